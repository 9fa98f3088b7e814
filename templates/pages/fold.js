// The steps of a sealed game, folded into what all were told, for whoever checks it, and their papers as their owner wrote
// them out (docs/bundle.md). A game's script, sealed/GAME.js, says what is owed and what a step changes.

/**
 * @typedef {{server: string, match: string, game: number, seat: number, player: string}} Place
 * @typedef {{turn: number, seat: number, step: string, lines: string[], paper?: string, values?: Object<string, string>}} Told a step, with its paper's hash and what is in its head
 */
const FOLD = (() => {
  const NOTHING = "0".repeat(64), { opens, papers } = FACTS.sealed;

  /** Whether it has the form of a step. */
  const isStep = (one) => Boolean(one) && (one.step === "commit" || Object.hasOwn(papers, one.step)) && Number.isInteger(one.turn) && Number.isInteger(one.seat)
    && (one.paper === undefined || /^[0-9a-f]{64}$/.test(one.paper)) && Array.isArray(one.lines) && one.lines.every((line) => SEALED.line.test(line)) && (one.step === "commit" || one.lines.length > 0 || papers[one.step].empty);

  /** The last paper of a turn that a seat made by one of these steps; 64 zeros where there is none. */
  function cited(steps, turn, seat, names) {
    const last = steps.findLast((each) => each.turn === turn && each.seat === seat && names.includes(each.step));
    return last ? last.paper : NOTHING;
  }

  /** What all know of the head of a step's paper: what its seat is bound to, and which papers before it cites. */
  const bound = ({ terms, commitments }, { seat }) => ({ rules: terms, setup: commitments[seat] });
  const cites = (before, { turn, seat, step }) => ({ to: cited(before, turn, 3 - seat, papers[step].to), own: cited(before, turn, seat, [opens]) });

  /**
   * The table after all steps. Raises an Error in words for one that was not owed, or whose paper cites another one
   * than it must.
   * @param {Object<string, *>} options agreed @param {Told[]} steps
   */
  function fold(options, steps) {
    return steps.reduce((table, each, at) => {
      const { turn, seat, step, lines, values } = each;
      if (turn !== table.turn || SEALED.owed(table, seat) !== step) throw new Error(say("turn {turn}: the step {step} of seat {seat} was not due", { turn, seat, step }));
      const wrong = values && step !== "commit" && Object.entries(cites(steps.slice(0, at), each)).some(([name, paper]) => papers[step].heads.includes(name) && values[name] !== paper);
      if (wrong) throw new Error(say("turn {turn}: a paper of seat {seat} does not cite the paper before it", each));
      return SEALED.enter(table, seat, step, lines);
    }, SEALED.begin(options));
  }

  /** The paper of a step, as its owner wrote it out: of these values it has those of its head; no setup has a turn. */
  function written(place, { turn, step, lines }, values) {
    const { name, heads } = papers[step], said = { ...values, ...place, turn };
    const head = ["server", "match", "game", ...(name === "setup" ? [] : ["turn"]), "seat", "player", ...heads].map((each) => `${each} ${said[each]}`);
    return [`pbem sealed ${name} 1`, ...head, name, ...lines, "end", ""].join("\n");
  }

  /**
   * Check the papers that are told: raises an Error in words where one is not what its hash says, or does not open what
   * its seat had committed to.
   * @param {{terms: string, commitments: Object<number, string>}} agreement @param {Told[]} steps
   * @param {(step: Told) => Place} place of its owner's papers
   */
  async function check(agreement, steps, place) {
    for (const [at, each] of steps.entries()) {
      const { turn, seat, step, paper, values } = each;
      if (!paper || step === "commit") continue;
      const committed = steps.slice(0, at).findLast((one) => one.turn === turn && one.seat === seat);
      if (values && await BUNDLE.sha256(BUNDLE.utf8(written(place(each), each, { ...values, ...bound(agreement, each) }))) !== paper) throw new Error(say("turn {turn}: a paper of seat {seat} does not match its hash", each));
      const promised = step === "setup" ? agreement.commitments[seat] : step === opens && committed && committed.step === "commit" ? committed.paper : paper;
      if (promised && promised !== paper) throw new Error(say("turn {turn}: seat {seat} opened something other than what it committed to", each));
    }
  }

  return { isStep, fold, check };
})();
