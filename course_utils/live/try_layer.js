// Message: what lies right of the diagonal is the future; red cells leak it.
// Chapters 3 to 5: how strongly each output of a layer depends on each input.
import { figure, fixed, sum } from "./base.js";
import { DEPENDENCIES, maps } from "./maps.js";

export default figure(({ names, moved }) => {
  const depends = (value) => value !== null;

  function draw(page, _state, at) {
    const colour = (value, ...place) => DEPENDENCIES.colour(depends(value), ...place),
      text = (value) => depends(value) ? fixed(value) : "·";
    maps(page, [{ ...DEPENDENCIES, values: moved, colour, text }], { names, at });
    if (at) {
      const value = moved[at.row][at.column];
      return `Output of "${names[at.row]}" ${
        depends(value)
          ? `moves by ${value < 0.0001 ? "less than 0.0001" : `up to ${fixed(value, 4)}`} times a step of`
          : "does not depend on"
      } input "${names[at.column]}".`;
    }
    const leaks = sum(moved.map((row, output) => row.slice(output + 1).filter(depends).length));
    return leaks
      ? `${leaks} red ${leaks === 1 ? "cell leaks" : "cells leak"}: outputs depend on later tokens.`
      : "No output depends on a later token.";
  }

  return { draw, letters: 120 };
});
