// A page opened from disk may not read its neighbours, from which search would quote.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
