-- The data of the workflow beside: built anew in memory for every run.
CREATE TABLE tickets (id INTEGER PRIMARY KEY, team TEXT, title TEXT, days_open INTEGER);
INSERT INTO tickets (id, team, title, days_open) VALUES
  (101, 'billing',  'Invoice shows the old address',      21),
  (102, 'billing',  'Discount is taken off twice',         9),
  (103, 'billing',  'Receipt is missing in the mail',      3),
  (104, 'shipping', 'Label printer prints blank pages',   14),
  (105, 'shipping', 'Parcel was sent to the old address', 35);
