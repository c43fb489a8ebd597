// Asks the site's own search, as the page does: node search.js WORKER INDEX QUESTION...
// Prints a line of JSON for each question: the locations of its hits, best first.
const { readFileSync } = require("node:fs");

const [worker, file, ...questions] = process.argv.slice(2);
const index = JSON.parse(readFileSync(file, "utf8"));
let answered;
globalThis.self = { postMessage: (message) => answered(message) };
(0, eval)(readFileSync(worker, "utf8"));

function ask(message) {
  return new Promise((resolve) => {
    answered = resolve;
    self.onmessage({ data: message });
  });
}

(async () => {
  await ask({ type: 0, data: structuredClone(index) });
  for (const input of questions) {
    const { data } = await ask({ type: 2, data: { input } });
    console.log(JSON.stringify(data.items.map(({ id }) => index.items[id].location)));
  }
})();
