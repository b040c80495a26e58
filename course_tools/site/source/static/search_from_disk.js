// A page opened from disk cannot read the other pages, which search would quote.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
