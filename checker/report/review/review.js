// What a link leads to, or what is printed, is opened if it is folded.
"use strict";
const reveal = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const folded = target && target.closest("details");
  if (folded && !folded.open) { folded.open = true; target.scrollIntoView(); }
};
addEventListener("hashchange", reveal);
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(one => { one.open = true; }));
reveal();
