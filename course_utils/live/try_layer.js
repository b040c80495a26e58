// Message: each output moves with its own input and those before it alone; without the mask it moves with the future, too.
// Chapters 3 to 5: how far each output of a layer moves when an input does, and the same without the layer's mask.
import { EMPTY, figure, fixed, LEAK, sum } from "./base.js";
import { maps } from "./maps.js";

const BLUE = [0, 124, 190]; // black and white can both be read on it

export default figure(({ names, moved, bare }) => {
  const depends = (value) => value !== null, layers = bare ? [moved, bare] : [moved];
  const largest = Math.max(...layers.flat(2)), blue = (share) => [...BLUE, (0.12 + 0.88 * share).toFixed(3)];
  const leaks = (value, output, input) => depends(value) && (input > output || !depends(moved[output][input]));
  const count = (layer) =>
    sum(layer.map((row, output) => row.filter((...cell) => leaks(cell[0], output, cell[1])).length));

  function draw(page, _state, at) {
    const titles = ["your layer", "the same without its mask"];
    maps(page, layers.map((values, place) => ({ key: titles[place], values })), {
      names,
      at,
      axes: ["output moves by", "when this input changes by 1"],
      colour: (value, ...cell) =>
        !depends(value)
          ? EMPTY
          : leaks(value, ...cell)
          ? [...LEAK, (0.25 + 0.5 * value / largest).toFixed(3)]
          : blue(value / largest),
      text: (value) => depends(value) ? fixed(value) : "·",
      scale: [blue, fixed(largest)],
      marks: [["not at all", EMPTY], ["what a mask should hide", LEAK]],
    });
    if (at) {
      const value = layers[titles.indexOf(at.part)][at.row][at.column];
      return `The output of "${names[at.row]}" ${
        depends(value)
          ? `moves by ${value < 0.0001 ? "less than 0.0001" : `up to ${fixed(value, 4)}`} times a step in`
          : "does not depend on"
      } the input "${names[at.column]}".`;
    }
    const cells = (many) => `${many} red ${many === 1 ? "cell leaks" : "cells leak"}`, many = count(moved);
    return (many ? `${cells(many)}: outputs depend on later tokens.` : "No output depends on a later token.") +
      (bare ? ` Without the mask, ${cells(count(bare))}.` : "");
  }

  return { draw, letters: 120 };
});
