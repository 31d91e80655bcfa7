-- A small shop, three weeks long. The weekly report reads it into a database in memory, so nothing is
-- left behind: change a figure, run the report again, and the text follows.

CREATE TABLE sales (
    week     TEXT    NOT NULL,              -- ISO week, like 2026-W48
    category TEXT    NOT NULL,
    amount   INTEGER NOT NULL,              -- turnover of the week
    PRIMARY KEY (week, category)
);

CREATE TABLE returns (
    week     TEXT    NOT NULL,
    category TEXT    NOT NULL,
    percent  INTEGER NOT NULL,              -- share of orders that came back
    PRIMARY KEY (week, category)
);

CREATE TABLE inventory (
    week        TEXT    NOT NULL,
    category    TEXT    NOT NULL,
    stock       INTEGER NOT NULL,           -- pieces at the end of the week
    weeks_cover INTEGER NOT NULL,           -- how long they last at the present pace
    PRIMARY KEY (week, category)
);

INSERT INTO sales (week, category, amount) VALUES
    ('2026-W46', 'Electronics', 128000),
    ('2026-W46', 'Apparel',      57000),
    ('2026-W46', 'Home',         90000),
    ('2026-W46', 'Beauty',       79000),
    ('2026-W46', 'Sports',       71000),
    ('2026-W46', 'Toys',         44000),
    ('2026-W47', 'Electronics', 135000),
    ('2026-W47', 'Apparel',      46000),
    ('2026-W47', 'Home',         93000),
    ('2026-W47', 'Beauty',       82000),
    ('2026-W47', 'Sports',       70000),
    ('2026-W47', 'Toys',         52000),
    ('2026-W48', 'Electronics', 142000),
    ('2026-W48', 'Apparel',      38000),
    ('2026-W48', 'Home',         96000),
    ('2026-W48', 'Beauty',       85000),
    ('2026-W48', 'Sports',       72000),
    ('2026-W48', 'Toys',         64000);

INSERT INTO returns (week, category, percent) VALUES
    ('2026-W46', 'Electronics', 3),
    ('2026-W46', 'Apparel',     7),
    ('2026-W46', 'Home',        4),
    ('2026-W46', 'Beauty',      5),
    ('2026-W46', 'Sports',      6),
    ('2026-W46', 'Toys',       14),
    ('2026-W47', 'Electronics', 3),
    ('2026-W47', 'Apparel',    13),
    ('2026-W47', 'Home',        4),
    ('2026-W47', 'Beauty',      5),
    ('2026-W47', 'Sports',      6),
    ('2026-W47', 'Toys',        8),
    ('2026-W48', 'Electronics', 3),
    ('2026-W48', 'Apparel',    18),
    ('2026-W48', 'Home',        4),
    ('2026-W48', 'Beauty',      5),
    ('2026-W48', 'Sports',      6),
    ('2026-W48', 'Toys',        5);

INSERT INTO inventory (week, category, stock, weeks_cover) VALUES
    ('2026-W46', 'Electronics', 2600, 4),
    ('2026-W46', 'Apparel',     3900, 7),
    ('2026-W46', 'Home',        3100, 5),
    ('2026-W46', 'Beauty',      5200, 4),
    ('2026-W46', 'Sports',      1900, 5),
    ('2026-W46', 'Toys',        3600, 9),
    ('2026-W47', 'Electronics', 2500, 4),
    ('2026-W47', 'Apparel',     4000, 9),
    ('2026-W47', 'Home',        3000, 5),
    ('2026-W47', 'Beauty',      5100, 4),
    ('2026-W47', 'Sports',      1800, 5),
    ('2026-W47', 'Toys',        3300, 7),
    ('2026-W48', 'Electronics', 2400, 3),
    ('2026-W48', 'Apparel',     4200, 11),
    ('2026-W48', 'Home',        2900, 5),
    ('2026-W48', 'Beauty',      5000, 4),
    ('2026-W48', 'Sports',      1800, 5),
    ('2026-W48', 'Toys',        3000, 6);
