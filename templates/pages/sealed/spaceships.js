// Spaceships as it is played sealed: what both were told. A port of pbem/games/spaceships/sealed.py: the table from all
// steps, and the reports of its turns. tests/page_scripts/sealed.py holds both against each other.

/**
 * @typedef {{turn: number, seat: number, step: string, lines: string[]}} Step
 * @typedef {{options: Object<string, *>, turn: number, committer: number, over: boolean, steps: Step[], played: Object<string, *>[][]}} Table what all were told; steps: those of the turn that is due
 */
const SEALED = (() => {
  const { CELL } = RULES;

  // The table

  /** @returns {Table} */
  const begin = (options) => ({ options, turn: 1, committer: 1, over: false, steps: [], played: [] });
  const told = (table, seat, step) => (table.steps.find((each) => each.seat === seat && each.step === step) || { lines: null }).lines;
  const lost = (lines) => lines.some((line) => line.includes(" destroyed ") && !line.startsWith("flash "));
  const first = (table) => (["1", "2"].includes(String(table.options.first)) ? Number(table.options.first) : 2 - table.turn % 2);

  /** The steps of a turn in their order, as far as they are certain: seat and step. */
  function way(table) {
    const one = table.committer, other = 3 - one, answered = told(table, other, "answers");
    const steps = [[one, "commit"], [other, "open"], [one, "open"], [one, "answers"], [other, "answers"]];
    if (answered && lost(answered)) steps.push([one, "flash"]);
    return steps;
  }

  const ends = (table) => [1, 2].some((seat) => (told(table, seat, "answers") || []).some((line) => line.startsWith("over ")));

  /** The step that a seat owes now; "" if none. */
  function owed(table, seat) {
    const [by, step] = way(table)[table.steps.length];
    return table.over || by !== seat ? "" : step;
  }

  /** @returns {Table} after a step that the seat owed */
  function enter(table, seat, step, lines) {
    const now = { ...table, steps: [...table.steps, { turn: table.turn, seat, step, lines }] };
    if (now.steps.length < way(now).length) return now;
    const over = ends(now), swapped = step !== "flash";
    return {
      options: table.options, turn: table.turn + (over ? 0 : 1), committer: swapped ? 3 - table.committer : table.committer,
      over, steps: [], played: [...table.played, merged(now)],
    };
  }

  // The reports of a turn, merged from the papers of both

  const RESULTS = { miss: "miss", hit: "hit", duplicate: "duplicate hit" };

  /** What one line of answers reports of a seat's strike, scan or death. */
  function report(seat, line) {
    const [kind, cell, ...words] = line.split(" ");
    const where = words.indexOf("destroyed", kind === "scan" ? 1 : 0), from = words.indexOf("explodes");
    const found = { seat, kind: kind === "death" ? "kamikaze death" : kind, cell };
    if (kind === "scan") found.result = words[0];
    else if (kind !== "death") found.result = RESULTS[words[0]];
    if (from >= 0) found.explosions = words.slice(from + 1, where < 0 ? undefined : where);
    if (where >= 0) found.destroyed = { ship: words[where + 1], cells: words.slice(where + 2) };
    return found;
  }

  function flashed(line) {
    const [, cell, ship, destroyed] = line.split(" ");
    return ship === "none" ? { cell, ship: null } : { cell, ship, destroyed: destroyed === "destroyed" };
  }

  function merged(table) {
    const begun = first(table), answers = { 1: told(table, 1, "answers"), 2: told(table, 2, "answers") };
    const flashes = [1, 2].map((seat) => new Map([...answers[seat], ...(told(table, seat, "flash") || [])]
      .filter((line) => line.startsWith("flash ")).map((line) => [line.split(" ")[1], flashed(line)])));
    const found = [];
    for (const seat of [begun, 3 - begun]) {
      const theirs = answers[3 - seat].filter((line) => /^(beam|strike|scan) /.test(line)).map((line) => [report(seat, line), seat]);
      const deaths = answers[seat].filter((line) => line.startsWith("death ")).map((line) => [report(seat, line), 3 - seat]);
      for (const [each, giver] of [...theirs, ...deaths]) {
        if (each.destroyed) each.flashcube = each.destroyed.cells.map((cell) => flashes[giver - 1].get(cell) || { cell, ship: null });
        found.push(each);
      }
    }
    return found;
  }

  /** What a line of any step may be made of. */
  const line = new RegExp(`^(?:(?:beam|strike|scan|death|flash|over|miss|hit|duplicate|explodes|destroyed|ship|none|fleet|idle|${CELL}|[A-Z]{2}[0-9]{0,3})(?: |$))+$`);

  return { line, begin, owed, enter };
})();
