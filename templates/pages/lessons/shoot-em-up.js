// The lesson of Shoot 'em up Spaceships.

const LESSON = {
  panels: [{ corner: "", columns: "abcdefg", rows: "7654321", called: (row, column) => column + row }],
  steps: [
    {
      words: say("Everybody sees this board; only orders are secret. Your ships are A, B and C, and their noses show where they head. Click A."),
      board: { c2: "seat1 A heads-N", d1: "seat1 B heads-N", e1: "seat1 C heads-E", c3: "seat2 D heads-W", d7: "seat2 E heads-S", e7: "seat2 F heads-S" },
      click: ["c2"], then: { c2: "seat1 A heads-N" },
      done: say("A stands on c2 and heads north, towards c3."),
    },
    {
      words: say("An action is L or R (turn), F (fire), M (move) or S (shield). D stands on the square ahead of A, and has no shield. What does A do?"),
      board: { c2: "seat1 A heads-N", c3: "seat2 D heads-W" },
      choose: { L: say("Then A would head west."), R: say("Then A would head east."), F: "", M: say("Then A would ram D: both would be destroyed."), S: say("D heads west, and cannot hit A.") }, right: "F", then: { c3: "sunk D" },
      done: say("F fires into the square ahead: every ship there takes a hit, and one without a shield is destroyed."),
    },
    {
      words: say("E comes closer and will fire at A in this very action. What saves A where it stands?"),
      board: { c2: "seat1 A heads-N", c3: "seat2 E heads-S" },
      choose: { L: say("A ship that turns stays where it is, and is hit."), F: say("Both would hit each other."), M: say("A would run into the shot."), S: "" }, right: "S", then: { c2: "seat1 A heads-N" },
      done: say("A shield counts in the very action in which it is raised, and takes one hit. After the third action all shields are gone."),
    },
    {
      words: say("C is to leave the edge and go one square north. It heads east. Which action is the first?"),
      board: { e1: "seat1 C heads-E" },
      choose: { L: "", R: say("Then C would head south, and off the board."), M: say("Then C would go east, to f1.") }, right: "L", then: { e1: "seat1 C heads-N" },
      done: say("L turns it to its own left, north; then M moves it to e2."),
    },
    {
      words: say("Each ship gets three actions a turn, such as LMF, and all ships act at once. Click the square on which C stands after LMM."),
      board: { e1: "seat1 C heads-E" },
      click: ["e3"], then: { e1: "empty o", e3: "seat1 C heads-N" },
      done: say("The last player with ships left wins. You know enough to begin."),
    },
  ],
};
