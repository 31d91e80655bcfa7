CREATE TABLE sales (shop TEXT, euros INTEGER);
INSERT INTO sales VALUES ('north', 120), ('south', 95);
