// The lesson of Dueling Masters of Space-Time.

const LESSON = {
  panels: [{ corner: "", columns: ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"], rows: "ABCDEFGHIJ", called: (row, column) => row + column }],
  steps: [
    {
      words: say("Your half is above, the other below, and nobody sees the other's pieces. Z1 moves like a queen. Click it, and then where it goes: E6."),
      board: { A1: "own H planet", B3: "own Z disc", B7: "rock * boulder", C9: "rock * boulder" },
      click: ["B3", "E6"], then: { B3: "empty o", E6: "own Z transit" },
      done: say("The other player reads only: Z1 departs from B3. Where to, and whether it arrives, comes out later."),
    },
    {
      words: say("Z1 is in transit: it counts as standing on E6. Order it again, and it is checked first. Click it."),
      board: { A1: "own H planet", B7: "rock * boulder", C9: "rock * boulder", E6: "own Z transit" },
      click: ["E6"], then: { D5: "seen X disc", E6: "empty o" },
      done: say("On its way from B3, on D5, it met the rook X2 of the other player, and X is stronger than Z: Z1 was destroyed long ago."),
    },
    {
      words: say("W, B, X, Y, Z: each destroys those behind it. Which of your pieces can destroy X2 and live?"),
      board: { A1: "own H planet", D5: "seen X disc", A5: "own B disc", D8: "own Y disc", F5: "own Z disc" },
      choose: { B: "", Y: say("No: X is stronger than Y."), Z: say("No: X is stronger than Z.") }, right: "B", then: { D5: "own B disc", A5: "empty o" },
      done: say("B is stronger than X, and survives. Equal pieces destroy each other."),
    },
    {
      words: say("Asteroids stand still. You cannot move over your own, but you may end on one: that is a ram. Click B, and then the asteroid."),
      board: { A1: "own H planet", A5: "own B disc", A8: "rock * boulder" },
      click: ["A5", "A8"], then: { A5: "empty o", A8: "empty o" },
      done: say("Piece and asteroid are gone, and the other player was told no more than: B departs from A5."),
    },
    {
      words: say("Each side has a home planet, which does not move. You have found the other one: click your queen, and then the planet."),
      board: { A1: "own H planet", F4: "own Z disc", J8: "seen H planet" },
      click: ["F4", "J8"], then: { F4: "empty o", J8: "own Z disc" },
      done: say("Once the check of that transit finds it there, the planet is gone, and you have won."),
    },
  ],
};
