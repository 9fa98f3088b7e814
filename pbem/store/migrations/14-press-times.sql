CREATE TABLE press_times (
    match INTEGER NOT NULL REFERENCES matches(number),
    player TEXT NOT NULL,
    time TEXT NOT NULL
) STRICT;
CREATE INDEX press_times_of_a_match ON press_times(match, time);
