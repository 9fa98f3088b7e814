// A lesson: a few steps on the board of a game. What stands where, the words and what is to be clicked are data, in the
// script of the game; here they are drawn.

/**
 * A board: what stands on each square, as "TINT SYMBOL SHAPE", such as "own D" or "seat1 A heads-N".
 * A step: its `words`; the squares to `click`, or the answers to `choose` from, with `right`, the right one; the `board`
 * before and what `then` changes; and the words when it is `done`.
 * @typedef {{words: string, done: string, board: Object<string, string>, then: Object<string, string>, click: ?string[], choose: ?Object<string, string>, right: ?string}} Step
 */
(() => {
  const { panels, steps } = LESSON;
  let at = 0, clicked = [], wrong = "";

  const isDone = () => (steps[at].click ? steps[at].click.every((name) => clicked.includes(name)) : clicked.includes(steps[at].right));

  function square(name) {
    const { board, then, click = [] } = steps[at], done = isDone();
    const [tint = "", symbol = "", shape = ""] = ((done && then[name]) || board[name] || "").split(" ");
    const marks = !done && click.includes(name) ? (clicked.includes(name) ? "aimed" : "may") : "";
    return { tint, symbol, shape, said: symbol, marks, fresh: done && name in then, ship: panels.length > 1 ? symbol : "" };
  }

  function press(name) {
    if (isDone()) return;
    wrong = (steps[at].click || Object.keys(steps[at].choose)).includes(name) ? "" : say("Not there: click where the frame is.");
    if (steps[at].choose && name !== steps[at].right) wrong = steps[at].choose[name] || wrong;
    clicked.push(name);
    draw();
  }

  function go(to) {
    at = to;
    clicked = [];
    wrong = "";
    draw();
    byId("words").focus();
  }

  function draw() {
    const { words, done, choose } = steps[at], over = isDone(), last = at === steps.length - 1;
    byId("words").textContent = words;
    byId("count").textContent = say("{number} of {all}", { number: at + 1, all: steps.length });
    byId("said").textContent = over ? done : wrong;
    byId("said").className = over ? "good" : wrong ? "open" : "";
    redraw(byId("boards"), drawBoard(say("The board"), panels.map((panel) => ({ ...panel, square })), press));
    redraw(byId("choices"), ...Object.keys(choose || {}).map((name) => make("button", { type: "button", "data-name": name, disabled: over, onclick: () => press(name) }, name)));
    byId("back").disabled = at === 0;
    byId("next").hidden = last;
    byId("next").className = over ? "chief" : "";
    byId("end").hidden = !(last && over);
  }

  byId("back").addEventListener("click", () => go(at - 1));
  byId("next").addEventListener("click", () => go(at + 1));
  draw();
})();
