date DATE NOT NULL,
year INT, month INT, day INT,
dep_time INT, sched_dep_time INT, dep_delay INT,
arr_time INT, sched_arr_time INT, arr_delay INT,
carrier STRING NOT NULL, flight INT NOT NULL, tailnum STRING,
origin STRING NOT NULL, dest STRING,
air_time INT, distance INT, hour INT, minute INT,
time_hour TIMESTAMP,
status STRING
