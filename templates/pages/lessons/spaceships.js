// The lesson of Spaceships.

const LESSON = {
  panels: [..."ROYGB"].map((colour) => ({ corner: colour, columns: "12345", rows: "vwxyz", called: (row, column) => colour + row + column })),
  steps: [
    {
      words: say("The other fleet is hidden in five planes, R O Y G B, one above the other. Nobody sees it. Strike Gx3: click it."),
      board: {}, click: ["Gx3"], then: { Gx3: "sunk X" },
      done: say("A hit! You are told that there is a ship, but not which one."),
    },
    {
      words: say("The cells of a ship touch, in a plane or through it. Strike the cells beside it and above it."),
      board: { Gx3: "sunk X" }, click: ["Gx4", "Yx3"], then: { Gx4: "sunk X", Yx3: "empty o" },
      done: say("One more hit, and a miss. Two undamaged cells side by side give your ships one strike a turn: a great fleet shoots more."),
    },
    {
      words: say("Your scout has found a ship at Bz2. It is a missile destroyer, and its missiles are not fired yet. Strike it."),
      board: { Gx3: "sunk X", Gx4: "sunk X", Bz2: "seen #" }, click: ["Bz2"], then: { Bz1: "sunk m", Bz2: "sunk m", Bz3: "sunk m" },
      done: say("A missile that is not fired explodes, and takes the cells of its ship beside it along: the whole destroyer is gone."),
    },
    {
      words: say("But look at your own space: a ship that dies lights up the same cells there, as a flashcube does. Click the cells that the other player saw."),
      board: { Bz1: "own K", Bz2: "own K", By1: "own K", By2: "own K", Bx1: "own K", Bx2: "own K", Rv1: "own D", Rv2: "own D", Rw1: "own D", Rw2: "own D" },
      click: ["Bz1", "Bz2", "Bz3"], then: { Bz1: "seen K", Bz2: "seen K", Bz3: "empty o" },
      done: say("Now the other player knows of two cells of your kill cruiser. Think before you kill."),
    },
    {
      words: say("Now place a ship of your own: a missile destroyer is three cells in a line. Click them."),
      board: {}, click: ["Yz1", "Yz2", "Yz3"], then: { Yz1: "own M", Yz2: "own M", Yz3: "own M" },
      done: say("That is all you need to begin. The rest, such as beams and kamikazes, is in the rules."),
    },
  ],
};
