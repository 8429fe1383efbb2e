# SQL and the plan it means, or why it is refused. Made of blocks: the SQL, then `=>` and the plan as tests/sql_writer.py
# writes it (table | where | by keys | aggregates | show | having | order | limit), or `=> REFUSED:`
# with a code and facts, as support/refusals.py reads them.

# What can be asked

SELECT COUNT(*) FROM visits
=> visits | count=COUNT(*) | show count

select count(*) as n from VISITS;
=> visits | n=COUNT(*) | show n

SELECT COUNT(1) FROM visits
=> visits | count=COUNT(*) | show count

SELECT COUNT(age) FROM visits
=> visits | count_age=COUNT(age) | show count_age

SELECT SUM(cost), AVG(cost), MEAN(age) FROM visits
=> visits | sum_cost=SUM(cost), avg_cost=AVG(cost), avg_age=AVG(age) | show sum_cost, avg_cost, avg_age

SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY ward
=> visits | by ward=ward | n=COUNT(*), c=AVG(cost) | show ward, n, c

SELECT v.ward, COUNT(*) FROM visits AS v GROUP BY v.ward
=> visits | by ward=ward | count=COUNT(*) | show ward, count

SELECT visits.ward, COUNT(*) FROM visits v GROUP BY v.ward
=> visits | by ward=ward | count=COUNT(*) | show ward, count

SELECT Ward, COUNT(*) N FROM Visits WHERE AGE > 3 GROUP BY WARD
=> visits | where (age > 3) | by ward=ward | N=COUNT(*) | show ward, N

SELECT `ward`, COUNT(*) FROM `visits` GROUP BY `ward`
=> visits | by ward=ward | count=COUNT(*) | show ward, count

SELECT "ward", COUNT(*) FROM "visits" GROUP BY "ward"
=> visits | by ward=ward | count=COUNT(*) | show ward, count

FROM visits SELECT COUNT(*)
=> visits | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits -- all of them
=> visits | count=COUNT(*) | show count

SELECT /* how many */ COUNT(*) FROM visits
=> visits | count=COUNT(*) | show count

SELECT ward, smoker, COUNT(*) FROM visits GROUP BY 1, 2
=> visits | by ward=ward, smoker=smoker | count=COUNT(*) | show ward, smoker, count

SELECT ward, smoker, COUNT(*) FROM visits GROUP BY ALL
=> visits | by ward=ward, smoker=smoker | count=COUNT(*) | show ward, smoker, count

SELECT FLOOR(age / 10) AS decade, COUNT(*) FROM visits GROUP BY decade
=> visits | by decade=floor((age * (1 / 10))) | count=COUNT(*) | show decade, count

SELECT FLOOR(age / 10), COUNT(*) FROM visits GROUP BY FLOOR(age/10)
=> visits | by floor=floor((age * (1 / 10))) | count=COUNT(*) | show floor, count

SELECT COUNT(*) FROM visits GROUP BY ward
=> visits | by ward=ward | count=COUNT(*) | show count

SELECT COUNT(*), ward FROM visits GROUP BY ward, ward
=> visits | by ward=ward | count=COUNT(*) | show count, ward

SELECT date_trunc('month', day) AS month, COUNT(*) FROM visits GROUP BY month
=> visits | by month=date_trunc('month', day) | count=COUNT(*) | show month, count

SELECT date, COUNT(*) FROM visits WHERE date >= '2024-01-01' GROUP BY date
=> visits | where (date >= DATE '2024-01-01') | by date=date | count=COUNT(*) | show date, count

SELECT COUNT(*), COUNT(*) FROM visits
=> visits | count=COUNT(*), count_2=COUNT(*) | show count, count_2

SELECT COUNT(*) AS a, COUNT(*) AS b FROM visits
=> visits | a=COUNT(*), b=COUNT(*) | show a, b

SELECT COUNT_IF(age > 65), COUNTIF(smoker) FROM visits
=> visits | count=COUNT(CASE WHEN (age > 65) THEN 1 ELSE NULL END), count_2=COUNT(CASE WHEN smoker THEN 1 ELSE NULL END) | show count, count_2

SELECT COUNT(*) FILTER (WHERE smoker), SUM(cost) FILTER (WHERE age > 65) AS s FROM visits
=> visits | count=COUNT(CASE WHEN smoker THEN 1 ELSE NULL END), s=SUM(CASE WHEN (age > 65) THEN cost ELSE NULL END) | show count, s

SELECT SUM(CASE WHEN smoker THEN cost ELSE 0 END) FROM visits
=> visits | sum=SUM(CASE WHEN smoker THEN cost ELSE 0 END) | show sum

SELECT SUM(smoker), AVG(age > 18) FROM visits
=> visits | sum=SUM(CASE WHEN smoker THEN 1 WHEN (NOT smoker) THEN 0 ELSE NULL END), avg=AVG(CASE WHEN (age > 18) THEN 1 WHEN (NOT (age > 18)) THEN 0 ELSE NULL END) | show sum, avg

SELECT COUNT(NULL) FROM visits
=> visits | count=COUNT(NULL) | show count

SELECT case when age < 18 then 'child' else 'adult' end as who, count(*) from visits group by who
=> visits | by who=CASE WHEN (age < 18) THEN 'child' ELSE 'adult' END | count=COUNT(*) | show who, count

SELECT (ward), (COUNT(*)) FROM visits GROUP BY (ward)
=> visits | by ward=ward | count=COUNT(*) | show ward, count

# Counting what is different, and people

SELECT COUNT(DISTINCT age) FROM visits
=> visits | count_distinct_age=COUNT(DISTINCT age) | show count_distinct_age

SELECT COUNT(DISTINCT city) AS cities, COUNT(DISTINCT (ward)) FROM visits
=> visits | cities=COUNT(DISTINCT city), count_distinct_ward=COUNT(DISTINCT ward) | show cities, count_distinct_ward

SELECT ward, COUNT(DISTINCT patient_id) AS people FROM visits GROUP BY ward
=> visits | by ward=ward | people=COUNT(DISTINCT patient_id) | show ward, people

SELECT COUNT(DISTINCT v.PATIENT_ID), COUNT(DISTINCT ("patient_id")) FROM visits v
=> visits | count_distinct=COUNT(DISTINCT patient_id), count_distinct_2=COUNT(DISTINCT patient_id) | show count_distinct, count_distinct_2

SELECT COUNT(DISTINCT patient_id) AS patient_id FROM visits ORDER BY patient_id
=> visits | patient_id=COUNT(DISTINCT patient_id) | show patient_id | order patient_id

SELECT APPROX_COUNT_DISTINCT(city), APPROX_DISTINCT(day), COUNT_DISTINCT(patient_id) FROM visits
=> visits | count_distinct_city=COUNT(DISTINCT city), count_distinct_day=COUNT(DISTINCT day), count_distinct=COUNT(DISTINCT patient_id) | show count_distinct_city, count_distinct_day, count_distinct

SELECT COUNT(DISTINCT date_trunc('month', day)), COUNT(DISTINCT smoker), COUNT(DISTINCT arrived) FROM visits
=> visits | count_distinct=COUNT(DISTINCT date_trunc('month', day)), count_distinct_smoker=COUNT(DISTINCT smoker), count_distinct_arrived=COUNT(DISTINCT arrived) | show count_distinct, count_distinct_smoker, count_distinct_arrived

SELECT COUNT(DISTINCT city) FILTER (WHERE smoker), COUNT(DISTINCT CASE WHEN age > 65 THEN ward END) FROM visits
=> visits | count_distinct=COUNT(DISTINCT CASE WHEN smoker THEN city ELSE NULL END), count_distinct_2=COUNT(DISTINCT CASE WHEN (age > 65) THEN ward ELSE NULL END) | show count_distinct, count_distinct_2

SELECT ward, COUNT(DISTINCT patient_id) AS n FROM visits GROUP BY ward HAVING COUNT(DISTINCT patient_id) > 10 ORDER BY COUNT(DISTINCT city) DESC
=> visits | by ward=ward | n=COUNT(DISTINCT patient_id), count_distinct_city=COUNT(DISTINCT city) | show ward, n | having (n > 10) | order count_distinct_city desc

SELECT COUNT(ALL age) FROM visits
=> visits | count_age=COUNT(age) | show count_age

SELECT COUNT(DISTINCT x) FROM "Odd Name"
=> Odd Name | count_distinct_x=COUNT(DISTINCT x) | show count_distinct_x

SELECT COUNT(DISTINCT patient_id) FROM "Odd Name"
=> REFUSED: unknown-column: there … 'patient_id'

SELECT COUNT(patient_id) FROM visits
=> REFUSED: unit-as-value: 'patient_id'

SELECT COUNT(*) FROM visits WHERE patient_id = 17
=> REFUSED: unit-as-value: 'patient_id'

SELECT patient_id, COUNT(*) FROM visits GROUP BY patient_id
=> REFUSED: unit-as-value: 'patient_id'

SELECT ward AS patient_id, COUNT(*) FROM visits GROUP BY patient_id
=> REFUSED: unit-as-value: 'patient_id'

SELECT COUNT(*) FROM visits GROUP BY ward ORDER BY patient_id
=> REFUSED: unknown-column: ORDER BY … 'patient_id'

SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING MAX(patient_id) > 3
=> REFUSED: unit-as-value: 'patient_id'

SELECT COUNT(DISTINCT CASE WHEN smoker THEN patient_id END) FROM visits
=> REFUSED: unit-as-value: 'CASE WHEN smoker THEN patient_id END'

SELECT COUNT(DISTINCT patient_id) FILTER (WHERE smoker) FROM visits
=> REFUSED: unit-as-value: FILTER

SELECT COUNT(DISTINCT patientid) FROM visits
=> REFUSED: unknown-column: 'patientid'

SELECT COUNT(DISTINCT w.patient_id) FROM visits
=> REFUSED: unknown-table: 'w' … FROM

SELECT COUNT(DISTINCT age, ward) FROM visits
=> REFUSED: wrong-arguments: COUNT … DISTINCT

SELECT COUNT(DISTINCT (age, ward)) FROM visits
=> REFUSED: wrong-arguments: COUNT … DISTINCT

SELECT COUNT(DISTINCT *) FROM visits
=> REFUSED: wrong-arguments: COUNT … DISTINCT

SELECT COUNT(DISTINCT) FROM visits
=> REFUSED: wrong-arguments: COUNT … DISTINCT

SELECT COUNT(DISTINCT 1) FROM visits
=> REFUSED: constant-value: COUNT … DISTINCT … '1'

SELECT COUNT(DISTINCT NULL) FROM visits
=> REFUSED: constant-value: COUNT … DISTINCT … 'NULL'

SELECT COUNT(DISTINCT COUNT(*)) FROM visits
=> REFUSED: misplaced-aggregate: 'COUNT(*)' … DISTINCT

SELECT COUNT(DISTINCT DISTINCT age) FROM visits
=> REFUSED: unsupported-sql: DISTINCT … answered

SELECT COUNT(age, DISTINCT cost) FROM visits
=> REFUSED: unsupported-sql: DISTINCT … answered

SELECT SUM(DISTINCT age) FROM visits
=> REFUSED: unsupported-sql: DISTINCT … answered

SELECT MIN(DISTINCT age) FROM visits
=> REFUSED: unsupported-sql: DISTINCT … answered

SELECT ward, COUNT(*) FROM visits GROUP BY DISTINCT ward
=> REFUSED: unsupported-sql: DISTINCT … answered

SELECT DISTINCT ON (ward) COUNT(*) FROM visits
=> REFUSED: unsupported-sql: DISTINCT … answered

# Spread, and two columns

SELECT VARIANCE(age), VAR_SAMP(cost), VAR(cost), VAR_POP(age), VARP(cost), VARIANCE_POP(age) FROM visits
=> visits | var_samp_age=VAR_SAMP(age), var_samp_cost=VAR_SAMP(cost), var_samp_cost_2=VAR_SAMP(cost), var_pop_age=VAR_POP(age), var_pop_cost=VAR_POP(cost), var_pop_age_2=VAR_POP(age) | show var_samp_age, var_samp_cost, var_samp_cost_2, var_pop_age, var_pop_cost, var_pop_age_2

SELECT STDDEV(age), STDDEV_SAMP(cost), STD(cost), STDEV(age), STDDEV_POP(age), STDEVP(cost) FROM visits
=> visits | stddev_samp_age=STDDEV_SAMP(age), stddev_samp_cost=STDDEV_SAMP(cost), stddev_samp_cost_2=STDDEV_SAMP(cost), stddev_samp_age_2=STDDEV_SAMP(age), stddev_pop_age=STDDEV_POP(age), stddev_pop_cost=STDDEV_POP(cost) | show stddev_samp_age, stddev_samp_cost, stddev_samp_cost_2, stddev_samp_age_2, stddev_pop_age, stddev_pop_cost

SELECT COVAR_POP(age, cost), COVAR_SAMP(cost, age), CORR(age, smoker) FROM visits
=> visits | covar_pop_age_cost=COVAR_POP(age, cost), covar_samp_cost_age=COVAR_SAMP(cost, age), corr=CORR(age, CASE WHEN smoker THEN 1 WHEN (NOT smoker) THEN 0 ELSE NULL END) | show covar_pop_age_cost, covar_samp_cost_age, corr

SELECT ward, STDDEV(cost) AS s FROM visits GROUP BY ward HAVING STDDEV_SAMP(cost) > 10 ORDER BY s DESC
=> visits | by ward=ward | s=STDDEV_SAMP(cost) | show ward, s | having (s > 10) | order s desc

SELECT CORR(age, cost) FILTER (WHERE smoker) AS r FROM visits
=> visits | r=CORR(CASE WHEN smoker THEN age ELSE NULL END, CASE WHEN smoker THEN cost ELSE NULL END) | show r

SELECT VAR_POP(smoker), STDDEV(age - 50), CORR(age * 2, CASE WHEN ward = 'A' THEN cost END) FROM visits
=> visits | var_pop=VAR_POP(CASE WHEN smoker THEN 1 WHEN (NOT smoker) THEN 0 ELSE NULL END), stddev_samp=STDDEV_SAMP((age - 50)), corr=CORR((age * 2), CASE WHEN (ward = 'A') THEN cost ELSE NULL END) | show var_pop, stddev_samp, corr

SELECT ward, CORR(age, cost) AS r FROM visits GROUP BY ward HAVING CORR(age, cost) > 0.5 AND CORR(cost, age) < 0.9
=> visits | by ward=ward | r=CORR(age, cost), corr_cost_age=CORR(cost, age) | show ward, r | having ((r > (1 / 2)) AND (corr_cost_age < (9 / 10)))

SELECT CORR(age) FROM visits
=> REFUSED: wrong-arguments: 'CORR(age)'

SELECT COVAR_POP(age, cost, age) FROM visits
=> REFUSED: wrong-arguments: 'COVAR_POP(age, cost, age)'

SELECT CORR(age, ward) FROM visits
=> REFUSED: type-mismatch: CORR

SELECT VARIANCE(city) FROM visits
=> REFUSED: type-mismatch: VARIANCE

SELECT STDDEV(NULL) FROM visits
=> REFUSED: type-mismatch: STDDEV … NULL

SELECT STDDEV() FROM visits
=> REFUSED: wrong-arguments: 'STDDEV()'

SELECT STDDEV(*) FROM visits
=> REFUSED: unsupported-sql: '*'

SELECT SQRT(VARIANCE(age)) FROM visits
=> visits | var_samp_age=VAR_SAMP(age) | computed computed=SQRT(var_samp_age) | show computed

SELECT ROUND(STDDEV(age), 2) FROM visits
=> visits | stddev_samp_age=STDDEV_SAMP(age) | computed computed=round(stddev_samp_age, 2) | show computed

SELECT VARIANCE(STDDEV(age)) FROM visits
=> REFUSED: misplaced-aggregate: 'STDDEV(age)' … VARIANCE

# Quantiles, smallest and largest

SELECT MEDIAN(age) FROM visits
=> visits | median_age=QUANTILE(age, (1 / 2)) | show median_age

SELECT MIN(age) FROM visits
=> visits | min_age=MIN(age) | show min_age

SELECT MIN(age), MAX(cost) AS top FROM visits
=> visits | min_age=MIN(age), top=MAX(cost) | show min_age, top

SELECT ward, MEDIAN(cost) AS m FROM visits GROUP BY ward HAVING MEDIAN(cost) > 100 ORDER BY MAX(cost)
=> visits | by ward=ward | m=QUANTILE(cost, (1 / 2)), max_cost=MAX(cost) | show ward, m | having (m > 100) | order max_cost

SELECT QUANTILE(age, 0.25), QUANTILE_CONT(age, 0.5), QUANTILE_DISC(cost, 0.999) FROM visits
=> visits | quantile_25_age=QUANTILE(age, (1 / 4)), median_age=QUANTILE(age, (1 / 2)), quantile_99_9_cost=QUANTILE(cost, (999 / 1000)) | show quantile_25_age, median_age, quantile_99_9_cost

SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY cost) AS p FROM visits
=> visits | p=QUANTILE(cost, (9 / 10)) | show p

SELECT percentile_disc(0.9) within group (order by cost desc) FROM visits
=> visits | quantile_10_cost=QUANTILE(cost, (1 / 10)) | show quantile_10_cost

SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age ASC NULLS LAST) FILTER (WHERE smoker) FROM visits
=> visits | median=QUANTILE(CASE WHEN smoker THEN age ELSE NULL END, (1 / 2)) | show median

SELECT APPROX_QUANTILE(age, 0.1), APPROX_PERCENTILE(age, 0.2), PERCENTILE(age, 0.3), PERCENTILE_APPROX(age, 0.4) FROM visits
=> visits | quantile_10_age=QUANTILE(age, (1 / 10)), quantile_20_age=QUANTILE(age, (1 / 5)), quantile_30_age=QUANTILE(age, (3 / 10)), quantile_40_age=QUANTILE(age, (2 / 5)) | show quantile_10_age, quantile_20_age, quantile_30_age, quantile_40_age

SELECT APPROX_PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age) FROM visits
=> visits | median_age=QUANTILE(age, (1 / 2)) | show median_age

SELECT QUANTILE(age, [0.25, 0.5, 0.75]) AS q FROM visits
=> visits | q_25=QUANTILE(age, (1 / 4)), q_50=QUANTILE(age, (1 / 2)), q_75=QUANTILE(age, (3 / 4)) | show q_25, q_50, q_75

SELECT QUANTILE_CONT(cost, ARRAY[0, 0.05, 1]) FROM visits
=> visits | min_cost=MIN(cost), quantile_5_cost=QUANTILE(cost, (1 / 20)), max_cost=MAX(cost) | show min_cost, quantile_5_cost, max_cost

SELECT PERCENTILE_CONT([0.1, 0.9]) WITHIN GROUP (ORDER BY age DESC) AS p FROM visits
=> visits | p_90=QUANTILE(age, (9 / 10)), p_10=QUANTILE(age, (1 / 10)) | show p_90, p_10

SELECT ward, QUANTILE(age, [0.5]) AS q, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY 2, 3
=> visits | by ward=ward | q_50=QUANTILE(age, (1 / 2)), n=COUNT(*) | show ward, q_50, n | order q_50, n

SELECT QUANTILE(age, [1/3, 2/3]) AS third FROM visits
=> visits | third_1_of_3=QUANTILE(age, (1 / 3)), third_2_of_3=QUANTILE(age, (2 / 3)) | show third_1_of_3, third_2_of_3

SELECT QUANTILE(age, 0), QUANTILE(age, 1.0), QUANTILE(age, 1 - 0.75) FROM visits
=> visits | min_age=MIN(age), max_age=MAX(age), quantile_25_age=QUANTILE(age, (1 / 4)) | show min_age, max_age, quantile_25_age

SELECT MEDIAN(CASE WHEN ward = 'A' THEN cost END) AS a, MEDIAN(cost) FILTER (WHERE ward = 'B') AS b FROM visits
=> visits | a=QUANTILE(CASE WHEN (ward = 'A') THEN cost ELSE NULL END, (1 / 2)), b=QUANTILE(CASE WHEN (ward = 'B') THEN cost ELSE NULL END, (1 / 2)) | show a, b

SELECT MEDIAN(smoker), MAX(age > 18) FROM visits
=> visits | median=QUANTILE(CASE WHEN smoker THEN 1 WHEN (NOT smoker) THEN 0 ELSE NULL END, (1 / 2)), max=MAX(CASE WHEN (age > 18) THEN 1 WHEN (NOT (age > 18)) THEN 0 ELSE NULL END) | show median, max

SELECT MAX(day - DATE '2020-01-01') AS last, MIN(EXTRACT(year FROM day)) FROM visits
=> visits | last=MAX((day - DATE '2020-01-01')), min=MIN(EXTRACT(year FROM day)) | show last, min

SELECT QUANTILE(age, [0.25, 0.75]) FILTER (WHERE smoker) AS q FROM visits
=> visits | q_25=QUANTILE(CASE WHEN smoker THEN age ELSE NULL END, (1 / 4)), q_75=QUANTILE(CASE WHEN smoker THEN age ELSE NULL END, (3 / 4)) | show q_25, q_75

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING QUANTILE(cost, 0.9) - MEDIAN(cost) > 100
=> visits | by ward=ward | n=COUNT(*), quantile_90_cost=QUANTILE(cost, (9 / 10)), median_cost=QUANTILE(cost, (1 / 2)) | show ward, n | having ((quantile_90_cost - median_cost) > 100)

SELECT QUANTILE(age, 0.000001), QUANTILE(age, 0.5::DOUBLE) FROM visits
=> visits | quantile_0_0001_age=QUANTILE(age, (1 / 1000000)), median_age=QUANTILE(age, (1 / 2)) | show quantile_0_0001_age, median_age

SELECT ward, QUANTILE(age, [0.25, 0.75]) AS q FROM visits GROUP BY ward ORDER BY q_75
=> visits | by ward=ward | q_25=QUANTILE(age, (1 / 4)), q_75=QUANTILE(age, (3 / 4)) | show ward, q_25, q_75 | order q_75

SELECT MEDIAN(day) FROM visits
=> REFUSED: type-mismatch: MEDIAN

SELECT MAX(arrived) FROM visits
=> REFUSED: type-mismatch: MAX … timestamp

SELECT MIN(city) FROM visits
=> REFUSED: type-mismatch: MIN

SELECT MAX(NULL) FROM visits
=> REFUSED: type-mismatch: MAX … NULL

SELECT MIN(age, 3) FROM visits
=> REFUSED: wrong-arguments: 'MIN(age, 3)'

SELECT QUANTILE(age) FROM visits
=> REFUSED: wrong-arguments: 'QUANTILE(age)'

SELECT QUANTILE(0.5, age) FROM visits
=> REFUSED: constant-needed: QUANTILE … 'age'

SELECT QUANTILE(age, cost) FROM visits
=> REFUSED: constant-needed: QUANTILE … 'cost'

SELECT QUANTILE(age, 50) FROM visits
=> REFUSED: out-of-range: QUANTILE … from 0 … 1 … 50

SELECT QUANTILE(age, -0.1) FROM visits
=> REFUSED: out-of-range: QUANTILE … from 0 … -1/10

SELECT QUANTILE(age, 1e300) FROM visits
=> REFUSED: out-of-range: QUANTILE … from 0 … 1000000000000000000000000000000000000

SELECT QUANTILE(age, NULL) FROM visits
=> REFUSED: constant-needed: QUANTILE … 'NULL'

SELECT QUANTILE(age, '0.5') FROM visits
=> REFUSED: constant-needed: QUANTILE … "'0.5'"

SELECT QUANTILE(age, TRUE) FROM visits
=> REFUSED: constant-needed: QUANTILE … 'TRUE'

SELECT QUANTILE(age, 0.1234567) FROM visits
=> REFUSED: too-fine: QUANTILE … '0.1234567'

SELECT QUANTILE(age, []) FROM visits
=> REFUSED: duplicate-value: QUANTILE

SELECT QUANTILE(age, [0.5, 0.50]) FROM visits
=> REFUSED: duplicate-value: QUANTILE

SELECT QUANTILE(age, [[0.5]]) FROM visits
=> REFUSED: unsupported-sql: [ … answered … list

SELECT QUANTILE(age, [age]) FROM visits
=> REFUSED: unsupported-sql: AGE

SELECT QUANTILE(age, ARRAY(0.5, 0.9)) FROM visits
=> REFUSED: unsupported-function: ARRAY

SELECT QUANTILE([0.5], 0.5) FROM visits
=> REFUSED: unsupported-sql: '[0.5]'

SELECT QUANTILE(age, [0.5][1]) FROM visits
=> REFUSED: unsupported-sql: ] … answered

SELECT age[1], COUNT(*) FROM visits GROUP BY 1
=> REFUSED: unsupported-sql: [ … answered

SELECT COUNT(*) FROM visits WHERE age IN ([1, 2])
=> REFUSED: unsupported-sql: '[1, 2]'

SELECT QUANTILE(age, [0.5) FROM visits
=> REFUSED: unsupported-sql: ) … answered … list

SELECT QUANTILE(age, 0.5]) FROM visits
=> REFUSED: unsupported-sql: ] … answered

SELECT QUANTILE(age, [0.25, 0.75]) AS q, COUNT(*) AS q_25 FROM visits
=> REFUSED: duplicate-name: 'q_25'

SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING QUANTILE(age, [0.25, 0.75]) > 3
=> REFUSED: too-many: HAVING

SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY QUANTILE(age, [0.5])
=> REFUSED: too-many: ORDER BY

SELECT ward, QUANTILE(age, [0.25, 0.75]) AS q FROM visits GROUP BY ward ORDER BY 2
=> REFUSED: too-many: ORDER BY

SELECT ward, QUANTILE(age, [0.25, 0.75]) AS q FROM visits GROUP BY ward ORDER BY q
=> REFUSED: unknown-column: ORDER BY … 'q'

SELECT PERCENTILE_CONT(0.5) FROM visits
=> REFUSED: wrong-arguments: 'PERCENTILE_CONT(0.5)'

SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age, cost) FROM visits
=> REFUSED: unsupported-sql: WITHIN GROUP … ORDER BY

SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age NULLS FIRST) FROM visits
=> REFUSED: unsupported-sql: WITHIN GROUP … ORDER BY

SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (age) FROM visits
=> REFUSED: syntax-error: 1 … 45 … 'age'

SELECT PERCENTILE_CONT(0.5) WITHIN GROUP () FROM visits
=> REFUSED: unsupported-sql: WITHIN GROUP … ORDER BY

SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY MEDIAN(age)) FROM visits
=> REFUSED: misplaced-aggregate: 'MEDIAN(age)' … PERCENTILE_CONT

SELECT MEDIAN(age) WITHIN GROUP (ORDER BY age) FROM visits
=> REFUSED: unsupported-sql: 'MEDIAN(age)' … WITHIN GROUP

SELECT ABS(age) WITHIN GROUP (ORDER BY age), COUNT(*) FROM visits
=> REFUSED: unsupported-sql: 'ABS(age)' … WITHIN GROUP

SELECT PERCENTILE_CONT(0.5) WITHIN (ORDER BY age) FROM visits
=> REFUSED: unsupported-function: WITHIN

SELECT COUNT(*) FROM visits GROUP (ward)
=> REFUSED: unsupported-function: GROUP is

SELECT MEDIAN(age) - MIN(age) FROM visits
=> visits | median_age=QUANTILE(age, (1 / 2)), min_age=MIN(age) | computed computed=(median_age - min_age) | show computed

SELECT MAX(MIN(age)) FROM visits
=> REFUSED: misplaced-aggregate: 'MIN(age)' … MAX

SELECT COUNT(*) FROM visits WHERE age = MAX(age)
=> REFUSED: misplaced-aggregate: 'MAX(age)' … WHERE

SELECT COUNT(*) FROM visits WHERE PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age) > 3
=> REFUSED: misplaced-aggregate: 'PERCENTILE_CONT(0.5 ORDER BY age)' … WHERE

SELECT COUNT(*) FROM visits GROUP BY MEDIAN(age)
=> REFUSED: misplaced-aggregate: 'MEDIAN(age)' … GROUP BY

SELECT QUANTILE(age, 0.5 ORDER BY age) FROM visits
=> REFUSED: unsupported-sql: '0.5 ORDER BY age'

SELECT MEDIAN(age ORDER BY cost LIMIT 3) FROM visits
=> REFUSED: unsupported-sql: 'age ORDER BY cost LIMIT 3'

SELECT MEDIAN(age AS a) FROM visits
=> REFUSED: unsupported-sql: 'age AS a'

SELECT MEDIAN(age) OVER (ORDER BY day) FROM visits
=> REFUSED: unsupported-function: OVER

SELECT MODE(age) FROM visits
=> REFUSED: unsupported-function: MODE

SELECT MODE() WITHIN GROUP (ORDER BY age) FROM visits
=> REFUSED: unsupported-function: MODE

SELECT STRING_AGG(city, ',') FROM visits
=> REFUSED: unsupported-function: STRING_AGG

SELECT FIRST(age) FROM visits
=> REFUSED: unsupported-function: FIRST

SELECT ANY_VALUE(city) FROM visits
=> REFUSED: unsupported-function: ANY_VALUE

SELECT APPROX_QUANTILES(age, 4) FROM visits
=> REFUSED: unsupported-function: APPROX_QUANTILES

SELECT SKEWNESS(age) FROM visits
=> REFUSED: unsupported-function: SKEWNESS

SELECT MEDIANN(age) FROM visits
=> REFUSED: unsupported-function: MEDIANN

# Keys whose values are not public: which are shown is decided elsewhere, with noise

SELECT city, COUNT(*) AS n FROM visits GROUP BY city
=> visits | by city=city | n=COUNT(*) | show city, n

SELECT city, ward, COUNT(DISTINCT patient_id) AS n, MEDIAN(cost) AS m FROM visits GROUP BY ALL HAVING n >= 20 ORDER BY n DESC LIMIT 10
=> visits | by city=city, ward=ward | n=COUNT(DISTINCT patient_id), m=QUANTILE(cost, (1 / 2)) | show city, ward, n, m | having (n >= 20) | order n desc | limit 10

SELECT CASE WHEN smoker THEN city END AS place, COUNT(*) FROM visits GROUP BY 1
=> visits | by place=CASE WHEN smoker THEN city ELSE NULL END | count=COUNT(*) | show place, count

SELECT COALESCE(city, 'nowhere') AS place, AVG(cost) FROM visits GROUP BY place HAVING place <> 'nowhere'
=> visits | by place=COALESCE(city, 'nowhere') | avg_cost=AVG(cost) | show place, avg_cost | having (place <> 'nowhere')

# HAVING, ORDER BY, LIMIT

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n > 10
=> visits | by ward=ward | n=COUNT(*) | show ward, n | having (n > 10)

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 10
=> visits | by ward=ward | n=COUNT(*) | show ward, n | having (n > 10)

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING AVG(cost) > 10 AND ward IN ('A', 'B')
=> visits | by ward=ward | n=COUNT(*), avg_cost=AVG(cost) | show ward, n | having ((avg_cost > 10) AND (ward IN ('A', 'B')))

SELECT ward FROM visits GROUP BY ward HAVING COUNT(*) BETWEEN 10 AND 20
=> visits | by ward=ward | count=COUNT(*) | show ward | having ((count >= 10) AND (count <= 20))

SELECT ward, SUM(cost) AS s, COUNT(*) AS n FROM visits GROUP BY ward HAVING s - 100 * n > 0 OR NOT n < 5
=> visits | by ward=ward | s=SUM(cost), n=COUNT(*) | show ward, s, n | having (((s - (100 * n)) > 0) OR (NOT (n < 5)))

SELECT ward, AVG(cost) AS cost FROM visits GROUP BY ward HAVING cost > 100
=> visits | by ward=ward | cost=AVG(cost) | show ward, cost | having (cost > 100)

SELECT FLOOR(age / 10) AS age, COUNT(*) FROM visits GROUP BY 1 HAVING age > 3
=> visits | by age=floor((age * (1 / 10))) | count=COUNT(*) | show age, count | having (age > 3)

SELECT FLOOR(age / 10) AS f, COUNT(*) FROM visits GROUP BY 1 HAVING FLOOR(age / 10) > 3 AND f IS NOT NULL
=> visits | by f=floor((age * (1 / 10))) | count=COUNT(*) | show f, count | having ((f > 3) AND (NOT (f IS NULL)))

SELECT day, COUNT(*) FROM visits GROUP BY day HAVING day >= '2024-02-01'
=> visits | by day=day | count=COUNT(*) | show day, count | having (day >= DATE '2024-02-01')

SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY ward
=> visits | by ward=ward | count=COUNT(*) | show ward, count | order ward

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC, 1 ASC NULLS LAST LIMIT 3 OFFSET 1
=> visits | by ward=ward | n=COUNT(*) | show ward, n | order n desc, ward | limit 3 | offset 1

SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY COUNT(*) DESC
=> visits | by ward=ward | count=COUNT(*) | show ward, count | order count desc

SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY count DESC
=> visits | by ward=ward | count=COUNT(*) | show ward, count | order count desc

SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY AVG(cost)
=> visits | by ward=ward | count=COUNT(*), avg_cost=AVG(cost) | show ward, count | order avg_cost

SELECT COUNT(*) FROM visits GROUP BY ward ORDER BY ward
=> visits | by ward=ward | count=COUNT(*) | show count | order ward

SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT 2, 5
=> visits | by ward=ward | count=COUNT(*) | show ward, count | limit 5 | offset 2

SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT ALL
=> visits | by ward=ward | count=COUNT(*) | show ward, count

SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT 0
=> visits | by ward=ward | count=COUNT(*) | show ward, count | limit 0

# Conditions

SELECT COUNT(*) FROM visits WHERE smoker
=> visits | where smoker | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE NOT smoker AND age >= 18 OR ward = 'A'
=> visits | where (((NOT smoker) AND (age >= 18)) OR (ward = 'A')) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE NOT (smoker OR age <> 18)
=> visits | where (NOT (smoker OR (age <> 18))) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE age BETWEEN 18 AND 65 AND smoker
=> visits | where (((age >= 18) AND (age <= 65)) AND smoker) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE age NOT BETWEEN 18 AND 65
=> visits | where (NOT ((age >= 18) AND (age <= 65))) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE ward IN ('A', 'B') AND ward NOT IN ('C')
=> visits | where ((ward IN ('A', 'B')) AND (NOT (ward IN ('C')))) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE ward IS NULL OR smoker IS NOT NULL OR age ISNULL OR age NOTNULL
=> visits | where ((ward IS NULL) OR (NOT (smoker IS NULL)) OR (age IS NULL) OR (NOT (age IS NULL))) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE smoker IS TRUE OR smoker IS NOT TRUE OR smoker IS FALSE
=> visits | where (COALESCE(smoker, FALSE) OR (NOT COALESCE(smoker, FALSE)) OR COALESCE((NOT smoker), FALSE)) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE age == 3 AND age != 4
=> visits | where ((age = 3) AND (age <> 4)) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE 18 < age
=> visits | where (18 < age) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE smoker = TRUE
=> visits | where (smoker = TRUE) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE smoker = 1
=> visits | where (CASE WHEN smoker THEN 1 WHEN (NOT smoker) THEN 0 ELSE NULL END = 1) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE city = 'it''s'
=> visits | where (city = 'it''s') | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE TRUE
=> visits | where TRUE | count=COUNT(*) | show count

# Dates and times

SELECT COUNT(*) FROM visits WHERE day = DATE '2024-02-29'
=> visits | where (day = DATE '2024-02-29') | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE day >= '2024-2-1' AND '2024-03-01' > day
=> visits | where ((day >= DATE '2024-02-01') AND (DATE '2024-03-01' > day)) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE arrived >= TIMESTAMP '2024-01-01 12:30' AND arrived < '2024-01-02T00:00:00.5'
=> visits | where ((arrived >= TIMESTAMP '2024-01-01 12:30:00') AND (arrived < TIMESTAMP '2024-01-02 00:00:00.500000')) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE arrived >= '2024-01-01'
=> visits | where (arrived >= DATE '2024-01-01') | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE day IN ('2024-01-01', DATE '2024-01-02')
=> visits | where (day IN (DATE '2024-01-01', DATE '2024-01-02')) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE EXTRACT(YEAR FROM day) = 2024 AND date_part('month', arrived) = 2 AND YEAR(day) > 2020
=> visits | where ((EXTRACT(year FROM day) = 2024) AND (EXTRACT(month FROM arrived) = 2) AND (EXTRACT(year FROM day) > 2020)) | count=COUNT(*) | show count

SELECT DAYOFWEEK(day) AS d, COUNT(*) FROM visits GROUP BY d
=> visits | by d=EXTRACT(dow FROM day) | count=COUNT(*) | show d, count

SELECT EXTRACT(isodow FROM day), COUNT(*) FROM visits GROUP BY 1
=> visits | by isodow=EXTRACT(isodow FROM day) | count=COUNT(*) | show isodow, count

SELECT HOUR(arrived), COUNT(*) FROM visits GROUP BY 1
=> visits | by hour=EXTRACT(hour FROM arrived) | count=COUNT(*) | show hour, count

SELECT AVG(day - DATE '2020-01-01') FROM visits
=> visits | avg=AVG((day - DATE '2020-01-01')) | show avg

SELECT AVG(CAST(arrived AS DATE) - day) FROM visits
=> visits | avg=AVG((CAST(arrived AS DATE) - day)) | show avg

SELECT date_trunc('week', arrived), COUNT(*) FROM visits GROUP BY 1
=> visits | by week=date_trunc('week', arrived) | count=COUNT(*) | show week, count

SELECT DATE(arrived), COUNT(*) FROM visits GROUP BY 1
=> visits | by date=CAST(arrived AS DATE) | count=COUNT(*) | show date, count

SELECT COUNT(*) FROM visits WHERE day::timestamp < arrived
=> visits | where (CAST(day AS TIMESTAMP) < arrived) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE GREATEST(day, '2024-01-01') = day
=> visits | where (GREATEST(day, DATE '2024-01-01') = day) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE COALESCE(day, arrived) > '2024-01-01'
=> visits | where (COALESCE(CAST(day AS TIMESTAMP), arrived) > DATE '2024-01-01') | count=COUNT(*) | show count

# Arithmetic and functions

SELECT SUM(cost * 2 + age - 1) FROM visits
=> visits | sum=SUM((((cost * 2) + age) - 1)) | show sum

SELECT SUM(cost - age - 1), SUM(cost - (age - 1)) FROM visits
=> visits | sum=SUM(((cost - age) - 1)), sum_2=SUM((cost - (age - 1))) | show sum, sum_2

SELECT SUM(-cost) FROM visits
=> visits | sum=SUM(((-1) * cost)) | show sum

SELECT SUM(cost / 3) FROM visits
=> visits | sum=SUM((cost * (1 / 3))) | show sum

SELECT SUM(cost * 60 * 24) FROM visits
=> visits | sum=SUM(((cost * 60) * 24)) | show sum

SELECT SUM(cost * (60 * 24)) FROM visits
=> visits | sum=SUM((cost * 1440)) | show sum

SELECT COUNT(*) FROM visits WHERE age > -5 + 2 * 3 / 4
=> visits | where (age > (-7 / 2)) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE age < 1e2 AND cost < .5 AND cost < 1_000.25
=> visits | where ((age < 100) AND (cost < (1 / 2)) AND (cost < (4001 / 4))) | count=COUNT(*) | show count

SELECT SUM(ABS(age - 50)), SUM(FLOOR(cost)), SUM(CEIL(cost)), SUM(CEILING(cost)) FROM visits
=> visits | sum=SUM(ABS((age - 50))), sum_2=SUM(floor(cost)), sum_3=SUM(ceil(cost)), sum_4=SUM(ceil(cost)) | show sum, sum_2, sum_3, sum_4

SELECT SUM(ROUND(cost)), SUM(ROUND(cost, 1)), SUM(ROUND(cost, -2)) FROM visits
=> visits | sum=SUM(round(cost)), sum_2=SUM(round(cost, 1)), sum_3=SUM(round(cost, -2)) | show sum, sum_2, sum_3

SELECT SUM(LEAST(age, 100)), SUM(GREATEST(age, 18, 20)) FROM visits
=> visits | sum=SUM(LEAST(age, 100)), sum_2=SUM(GREATEST(age, 18, 20)) | show sum, sum_2

SELECT SUM(COALESCE(cost, 0)), SUM(IFNULL(cost, 0)) FROM visits
=> visits | sum=SUM(COALESCE(cost, 0)), sum_2=SUM(COALESCE(cost, 0)) | show sum, sum_2

SELECT AVG(NULLIF(age, 0)) FROM visits
=> visits | avg=AVG(CASE WHEN (age = 0) THEN NULL ELSE age END) | show avg

SELECT SUM(IF(smoker, cost, 0)), SUM(IIF(smoker, 1, 0)) FROM visits
=> visits | sum=SUM(CASE WHEN smoker THEN cost ELSE 0 END), sum_2=SUM(CASE WHEN smoker THEN 1 ELSE 0 END) | show sum, sum_2

SELECT SUM(CASE ward WHEN 'A' THEN 1 WHEN 'B' THEN 2 END) FROM visits
=> visits | sum=SUM(CASE WHEN (ward = 'A') THEN 1 WHEN (ward = 'B') THEN 2 ELSE NULL END) | show sum

SELECT SUM(CAST(cost AS INTEGER)), SUM(cost::bigint), SUM(TRY_CAST(cost AS DECIMAL(10, 1))) FROM visits
=> visits | sum=SUM(round(cost)), sum_2=SUM(round(cost)), sum_3=SUM(round(cost, 1)) | show sum, sum_2, sum_3

SELECT SUM(cost::double), SUM(cost::numeric), SUM(CAST(smoker AS INT)) FROM visits
=> visits | sum_cost=SUM(cost), sum_cost_2=SUM(cost), sum=SUM(round(CASE WHEN smoker THEN 1 WHEN (NOT smoker) THEN 0 ELSE NULL END)) | show sum_cost, sum_cost_2, sum

SELECT COUNT(*) FROM visits WHERE CAST(age AS BOOLEAN)
=> visits | where (age <> 0) | count=COUNT(*) | show count

SELECT SUM(age + smoker) FROM visits
=> visits | sum=SUM((age + CASE WHEN smoker THEN 1 WHEN (NOT smoker) THEN 0 ELSE NULL END)) | show sum

SELECT SUM(age) FROM visits WHERE age < 10 AND age > '5'
=> REFUSED: type-mismatch: > … mixes

# Refused: what is not answered

SELECT * FROM visits
=> REFUSED: no-aggregate: SELECT … *

SELECT age FROM visits
=> REFUSED: no-aggregate: query … themselves

SELECT DISTINCT ward FROM visits
=> REFUSED: no-aggregate: SELECT DISTINCT

SELECT ward FROM visits GROUP BY ward
=> REFUSED: no-aggregate: nothing

SELECT ward, COUNT(*) FROM visits
=> REFUSED: not-grouped: 'ward'

SELECT ward, age, COUNT(*) FROM visits GROUP BY ward
=> REFUSED: not-grouped: 'age'

SELECT SUM(cost) / COUNT(*) FROM visits
=> visits | sum_cost=SUM(cost), count=COUNT(*) | computed computed=(sum_cost / count) | show computed

SELECT ROUND(AVG(cost), 2) FROM visits
=> visits | avg_cost=AVG(cost) | computed computed=round(avg_cost, 2) | show computed

SELECT SUM(COUNT(*)) FROM visits
=> REFUSED: misplaced-aggregate: 'COUNT(*)' … SUM

SELECT COUNT(*) OVER () FROM visits
=> REFUSED: unsupported-function: OVER

SELECT COUNT(*) FROM visits v JOIN visits w ON v.age = w.age
=> REFUSED: not-per-unit: 'w'

SELECT COUNT(*) FROM visits, visits w
=> REFUSED: not-per-unit: 'w'

SELECT COUNT(*) FROM (SELECT * FROM visits)
=> visits | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE age IN (SELECT age FROM visits)
=> REFUSED: not-per-unit: IN

WITH t AS (SELECT 1) SELECT COUNT(*) FROM t
=> REFUSED: missing-name: FROM

SELECT COUNT(*) FROM visits UNION SELECT COUNT(*) FROM visits
=> REFUSED: unsupported-sql: UNION

SELECT COUNT(*) FROM visits; DROP TABLE visits
=> REFUSED: unsupported-sql: statement

DROP TABLE visits
=> REFUSED: unsupported-sql: SELECT … DROP

SELECT COUNT(*) FROM read_csv('/etc/passwd')
=> REFUSED: unsupported-function: READ_CSV

SELECT COUNT(*) FROM '/etc/passwd'
=> REFUSED: unknown-table: '/etc/passwd'

SELECT COUNT(*) FROM nowhere
=> REFUSED: unknown-table: 'nowhere'

SELECT COUNT(*) FROM main.visits
=> REFUSED: unknown-table: 'main.visits'

SELECT COUNT(*) FROM visits AS v(a, b)
=> REFUSED: unsupported-sql: V … lists

SELECT COUNT(*)
=> REFUSED: missing-name: FROM

SELECT COUNT(*) FROM visits WHERE city LIKE 'A%'
=> visits | where (city LIKE 'A%' ESCAPE '\') | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE LOWER(city) = 'a'
=> visits | where (LOWER(city) = 'a') | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE city || 'a' = 'b'
=> visits | where ((city || 'a') = 'b') | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE age // 10 = 1
=> visits | where (trunc((age * (1 / 10))) = 1) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE age % 10 = 1
=> visits | where ((age % 10) = 1) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE cost / age > 1
=> REFUSED: out-of-domain: in WHERE … GREATEST(age, 1)

SELECT COUNT(*) FROM visits WHERE age / 0 = 1
=> REFUSED: division-by-zero: 'age / 0'

SELECT COUNT(*) FROM visits WHERE day + 1 > '2024-01-01'
=> visits | where ((day + INTERVAL '1 days') > DATE '2024-01-01') | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE day + INTERVAL 1 DAY > '2024-01-01'
=> visits | where ((day + INTERVAL '1 days') > DATE '2024-01-01') | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE arrived - arrived > 1
=> REFUSED: type-mismatch: defined

SELECT COUNT(*) FROM visits WHERE day > CURRENT_DATE
=> REFUSED: unsupported-sql: CURRENT_DATE

SELECT COUNT(*) FROM visits WHERE age = NULL
=> REFUSED: null-comparison: NULL … true

SELECT COUNT(*) FROM visits WHERE age IN (1, NULL)
=> REFUSED: null-comparison: NULL … IN

SELECT COUNT(*) FROM visits WHERE age IN (age, 1)
=> REFUSED: constant-needed: IN

SELECT COUNT(*) FROM visits WHERE age = '30'
=> REFUSED: type-mismatch: = … mixes

SELECT COUNT(*) FROM visits WHERE ward = 1
=> REFUSED: type-mismatch: = … mixes

SELECT COUNT(*) FROM visits WHERE ward < 'B'
=> REFUSED: unsupported-type: WHERE … text

SELECT COUNT(*) FROM visits WHERE smoker > FALSE
=> REFUSED: unsupported-type: WHERE … boolean

SELECT COUNT(*) FROM visits WHERE age
=> REFUSED: not-a-condition: WHERE

SELECT COUNT(*) FROM visits WHERE NOT age
=> REFUSED: not-a-condition: NOT

SELECT COUNT(*) FROM visits WHERE COUNT(*) > 3
=> REFUSED: misplaced-aggregate: 'COUNT(*)' … WHERE

SELECT COUNT(*) AS n FROM visits WHERE n > 3
=> REFUSED: unknown-column: 'n' … SELECT

SELECT COUNT(*) FROM visits WHERE agee > 3
=> REFUSED: unknown-column: 'agee'

SELECT COUNT(*) FROM visits WHERE ward = "A"
=> REFUSED: unknown-column: 'A'

SELECT COUNT(*) FROM visits WHERE w.age > 3
=> REFUSED: unknown-table: 'w' … FROM

SELECT COUNT(*) FROM visits WHERE day > 'yesterday'
=> REFUSED: not-a-date: 'yesterday'

SELECT COUNT(*) FROM visits WHERE day > '2023-02-29'
=> REFUSED: not-a-date: '2023-02-29'

SELECT COUNT(*) FROM visits WHERE arrived > '2024-01-01 12:00:00+02'
=> REFUSED: not-a-date: '2024-01-01 12:00:00+02'

SELECT COUNT(*) FROM visits WHERE day = DATE '2024-01-01 12:00'
=> REFUSED: not-a-date: '2024-01-01 12:00'

SELECT COUNT(*) FROM visits WHERE CAST(age AS VARCHAR) = '1'
=> REFUSED: unsupported-type: 'CAST(age AS TEXT)'

SELECT COUNT(*) FROM visits WHERE age IS DISTINCT FROM 3
=> REFUSED: unsupported-sql: DISTINCT … answered

SELECT COUNT(*) FROM visits WHERE age IS 3
=> REFUSED: unsupported-sql: 'age IS 3'

SELECT COUNT(*) FROM visits WHERE age BETWEEN SYMMETRIC 3 AND 1
=> REFUSED: unsupported-sql: BETWEEN … 3 … AND … 1

SELECT COUNT(*) FROM visits WHERE age = 0x1F
=> REFUSED: not-a-number: '0x1F'

SELECT COUNT(*) FROM visits WHERE age = 1e400
=> REFUSED: too-fine: WHERE … 9e+25 … of 1

SELECT COUNT(*) FROM visits WHERE age = ?
=> REFUSED: unsupported-sql: ? … answered

SELECT COUNT(*) FROM visits WHERE age = $1
=> REFUSED: unsupported-sql: $ … answered

SELECT COUNT(*) FROM visits WHERE age IN ()
=> REFUSED: constant-needed: IN

SELECT COUNT(*) FROM visits WHERE (age, 1) = (1, 1)
=> REFUSED: unsupported-sql: '(age, 1)'

SELECT SUM(ward) FROM visits
=> REFUSED: type-mismatch: SUM … text

SELECT SUM(day) FROM visits
=> REFUSED: type-mismatch: SUM … date

SELECT SUM(NULL) FROM visits
=> REFUSED: type-mismatch: SUM … NULL

SELECT SUM(cost * cost * cost * cost * cost * cost) FROM visits
=> REFUSED: too-fine: SUM … 9e+25 … 1/10000000000

SELECT SUM(CASE WHEN smoker THEN 1 ELSE 'x' END) FROM visits
=> REFUSED: type-mismatch: CASE

SELECT SUM(ROUND(cost, age)) FROM visits
=> REFUSED: not-whole: ROUND … 2

SELECT SUM(ROUND(cost, 99)) FROM visits
=> REFUSED: not-whole: ROUND … 2

SELECT COUNT(*), COUNT(age, cost) FROM visits
=> REFUSED: wrong-arguments: 'COUNT(age, cost)'

SELECT COUNT(visits.*) FROM visits
=> REFUSED: unknown-column: '*'

SELECT COUNT(* EXCLUDE (age)) FROM visits
=> REFUSED: unsupported-function: EXCLUDE

SELECT ABS(age) FILTER (WHERE smoker), COUNT(*) FROM visits
=> REFUSED: unsupported-sql: 'ABS(age) FILTER(WHERE smoker)'

SELECT COUNT(*) FILTER (WHERE age) FROM visits
=> REFUSED: not-a-condition: FILTER

SELECT date_trunc('decade', day), COUNT(*) FROM visits GROUP BY 1
=> REFUSED: unknown-choice: 'decade'

SELECT date_trunc(day, MONTH), COUNT(*) FROM visits GROUP BY 1
=> visits | by month=date_trunc('month', day) | count=COUNT(*) | show month, count

SELECT EXTRACT(epoch FROM arrived), COUNT(*) FROM visits GROUP BY 1
=> REFUSED: unknown-choice: 'EPOCH'

SELECT YEAR(age), COUNT(*) FROM visits GROUP BY 1
=> REFUSED: type-mismatch: YEAR

SELECT date_part(day), COUNT(*) FROM visits GROUP BY 1
=> REFUSED: unsupported-sql: 'DATE_PART(day)'

SELECT ward, ward AS w, COUNT(*) FROM visits GROUP BY ward
=> REFUSED: duplicate-value: 'ward'

SELECT COUNT(*) AS n, SUM(age) AS N FROM visits
=> REFUSED: duplicate-name: 'N'

SELECT COUNT(*) AS "" FROM visits
=> visits | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits GROUP BY 2
=> REFUSED: out-of-range: GROUP BY … 2 … SELECT

SELECT COUNT(*) FROM visits GROUP BY 1
=> REFUSED: misplaced-aggregate: 'COUNT(*)' … GROUP BY

SELECT COUNT(*) FROM visits GROUP BY 'a'
=> REFUSED: constant-value: GROUP BY … "'a'"

SELECT COUNT(*) FROM visits GROUP BY 1 + 1
=> REFUSED: constant-value: GROUP BY … '1 + 1'

SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (ward)
=> visits | by ward=ward | levels (ward) () | count=COUNT(*) | show ward, count

SELECT ward, COUNT(*) FROM visits GROUP BY CUBE (ward)
=> visits | by ward=ward | levels (ward) () | count=COUNT(*) | show ward, count

SELECT FLOOR(age / 10) AS age, COUNT(*) FROM visits GROUP BY age
=> REFUSED: not-grouped: 'FLOOR(age / 10)'

SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING age > 3
=> REFUSED: not-grouped: 'age'

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n
=> REFUSED: not-a-condition: HAVING

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING nn > 3
=> REFUSED: unknown-column: 'nn'

SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING SUM(cost) / COUNT(*) > 3
=> visits | by ward=ward | count=COUNT(*), sum_cost=SUM(cost) | show ward, count | having ((sum_cost / count) > 3)

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n + 1
=> visits | by ward=ward | n=COUNT(*) | computed computed=(n + 1) | show ward, n | order computed

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY 3
=> REFUSED: out-of-range: ORDER BY … 3 … SELECT

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n NULLS FIRST
=> REFUSED: unsupported-sql: NULLS FIRST

SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY ALL
=> REFUSED: unknown-column: ORDER BY … 'ALL'

SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT -1
=> REFUSED: negative: LIMIT … -1 … below 0

SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT 1.5
=> REFUSED: not-whole: LIMIT

SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT 10%
=> REFUSED: unsupported-sql: LIMIT … answered

SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT age
=> REFUSED: not-whole: LIMIT

SELECT COUNT(*) FROM visits FETCH FIRST 3 ROWS ONLY
=> visits | count=COUNT(*) | show count | limit 3

SELECT COUNT(*) FROM visits TABLESAMPLE 10%
=> REFUSED: unsupported-sql: TABLESAMPLE

SELECT /*+ PARALLEL(4) */ COUNT(*) FROM visits
=> REFUSED: unsupported-sql: hints

SELECT COUNT(*) FROM visits WHERE age = 'it
=> REFUSED: syntax-error: comment

SELECT COUNT(*) FROM visits WHERE (age = 3
=> REFUSED: syntax-error: 1 … 42 … '3'

SELECT COUNT(*) FROM visits WHERE age = = 3
=> REFUSED: syntax-error: 41 … '='

SELECT COUNT(*) FROM visits WHERE
=> REFUSED: syntax-error: 1 … 33 … 'WHERE'

SELECT COUNT(x) FROM "Odd Name"
=> Odd Name | count_x=COUNT(x) | show count_x

SELECT COUNT(X) FROM "Odd Name" WHERE x = 1
=> Odd Name | where (x = 1) | count_X=COUNT(X) | show count_X

SELECT DATE(DATE(arrived)), COUNT(*) FROM visits GROUP BY 1
=> REFUSED: unsupported-sql: DATE … used

SELECT COALESCEE(age, 1), COUNT(*) FROM visits GROUP BY 1
=> REFUSED: unsupported-function: COALESCEE

SELECT INT(age), COUNT(*) FROM visits GROUP BY 1
=> REFUSED: unsupported-function: INT

SELECT 1, COUNT(*) FROM visits
=> REFUSED: not-grouped: '1'

-- nothing
=> REFUSED: empty

SELECT date_trunc('month', day) AS day, COUNT(*) FROM visits GROUP BY day
=> REFUSED: not-grouped: "DATE_TRUNC('month', day)"

# More corners

SELECT age + 1, COUNT(*) FROM visits GROUP BY 1
=> visits | by key=(age + 1) | count=COUNT(*) | show key, count

SELECT COUNT(*) FROM visits LIMIT 5 BY ward
=> REFUSED: unsupported-sql: LIMIT … answered

SELECT SUM(COALESCE(NULL, NULL)) FROM visits
=> REFUSED: type-mismatch: SUM … NULL

SELECT SUM(age + TRUE) FROM visits
=> visits | sum=SUM((age + 1)) | show sum

SELECT COUNT(*) FROM visits WHERE 1e300 * 1e300 = age
=> REFUSED: too-large

SELECT COUNT(*) FROM visits WHERE COALESCE(arrived, DATE '2024-01-01') < '2024-01-02'
=> visits | where (COALESCE(arrived, TIMESTAMP '2024-01-01 00:00:00') < DATE '2024-01-02') | count=COUNT(*) | show count

SELECT SUM(CASE WHEN smoker THEN NULL ELSE age END) FROM visits
=> visits | sum=SUM(CASE WHEN smoker THEN NULL ELSE age END) | show sum

SELECT COUNT(*) FROM visits WHERE age = 3 = smoker
=> visits | where ((age = 3) = smoker) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE smoker = (age > 3) IS TRUE
=> visits | where COALESCE((smoker = (age > 3)), FALSE) | count=COUNT(*) | show count

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) FILTER (WHERE smoker) > 0.5 * n
=> visits | by ward=ward | n=COUNT(*), count=COUNT(CASE WHEN smoker THEN 1 ELSE NULL END) | show ward, n | having (count > ((1 / 2) * n))

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING visits.ward = 'A' ORDER BY visits.ward
=> visits | by ward=ward | n=COUNT(*) | show ward, n | having (ward = 'A') | order ward

SELECT smoker, COUNT(*) AS n FROM visits GROUP BY smoker HAVING smoker OR n > 5
=> visits | by smoker=smoker | n=COUNT(*) | show smoker, n | having (smoker OR (n > 5))

SELECT MEAN(cost, age) FROM visits
=> REFUSED: wrong-arguments: 'MEAN(cost, age)'

SELECT COUNT(*) FROM visits WHERE day > TIMESTAMP '2024-01-01'
=> visits | where (day > TIMESTAMP '2024-01-01 00:00:00') | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE CAST('2024-01-31 10:00' AS TIMESTAMP) < arrived
=> visits | where (TIMESTAMP '2024-01-31 10:00:00' < arrived) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE age::DECIMAL(5) = 1
=> visits | where (round(age) = 1) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE day - '2020-01-01' > 7
=> visits | where ((day - DATE '2020-01-01') > 7) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE DATE '2024-03-01' - DATE '2024-02-01' = 29
=> visits | where (29 = 29) | count=COUNT(*) | show count

SELECT Count(*) FROM visits WHERE Age>=18AND age<=65
=> visits | where ((age >= 18) AND (age <= 65)) | count=COUNT(*) | show count

# Public tables beside the private one

SELECT region, COUNT(*) AS n FROM visits JOIN wards ON visits.ward = wards.ward GROUP BY region
=> (visits JOIN wards ON ward = ward MOST 1 GIVES region) | by region=region | n=COUNT(*) | show region, n

SELECT w.region, AVG(v.cost) AS c FROM visits AS v INNER JOIN wards AS w ON w.ward = v.ward WHERE w.size > 20 GROUP BY w.region
=> (visits JOIN wards ON ward = ward MOST 1 GIVES size, region) | where (size > 20) | by region=region | c=AVG(cost) | show region, c

SELECT region, COUNT(*) FROM visits JOIN wards USING (ward) GROUP BY region
=> (visits JOIN wards ON ward = ward MOST 1 GIVES region) | by region=region | count=COUNT(*) | show region, count

SELECT ward, region, COUNT(*) FROM visits LEFT JOIN wards USING (ward) GROUP BY ward, region
=> (visits LEFT JOIN wards ON ward = ward MOST 1 GIVES region) | by ward=ward, region=region | count=COUNT(*) | show ward, region, count

SELECT region, COUNT(*) FROM visits v LEFT OUTER JOIN wards w ON (v.ward = w.ward) GROUP BY region
=> (visits LEFT JOIN wards ON ward = ward MOST 1 GIVES region) | by region=region | count=COUNT(*) | show region, count

SELECT region, COUNT(*) FROM wards, visits WHERE wards.ward = visits.ward AND age > 18 GROUP BY region
=> (visits JOIN wards ON ward = ward MOST 1 GIVES region) | where (age > 18) | by region=region | count=COUNT(*) | show region, count

SELECT region, COUNT(*) FROM wards w JOIN visits v ON w.ward = v.ward GROUP BY 1
=> (visits JOIN wards ON ward = ward MOST 1 GIVES region) | by region=region | count=COUNT(*) | show region, count

SELECT COUNT(*) FROM visits v JOIN wards w ON v.ward = w.ward AND w.size > 20 AND v.age > 3
=> (visits JOIN wards ON ward = ward MOST 1 GIVES size) | where ((size > 20) AND (age > 3)) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits v JOIN wards w ON v.ward = w.ward OR v.age = w.size
=> REFUSED: missing-join-condition: 'w'

SELECT w.size, COUNT(*) FROM visits v LEFT JOIN wards w ON v.ward = w.ward AND w.size > 20 GROUP BY w.size
=> (visits LEFT JOIN wards ON ward = ward MOST 1 GIVES ward AS wards_ward, size) | by size=CASE WHEN ((NOT (wards_ward IS NULL)) AND (size > 20)) THEN size ELSE NULL END | count=COUNT(*) | show size, count

SELECT SUM(price) FROM visits JOIN prices USING (ward)
=> (visits JOIN prices ON ward = ward GIVES price) | sum_price=SUM(price) | show sum_price

SELECT SUM(price) FROM visits v JOIN prices p ON p.ward = v.ward AND p.year = v.age
=> (visits JOIN prices ON ward = ward, age = year MOST 1 GIVES price) | sum_price=SUM(price) | show sum_price

SELECT SUM(price) FROM visits v JOIN prices p ON p.ward = v.ward AND p.year = EXTRACT(year FROM v.day)
=> (visits JOIN prices ON ward = ward GIVES year, price) | where (year = EXTRACT(year FROM day)) | sum_price=SUM(price) | show sum_price

SELECT COUNT(price) FROM visits v LEFT JOIN prices p ON p.ward = v.ward AND p.year = 2024
=> REFUSED: unsupported-join: LEFT JOIN … condition … 'p'

SELECT COUNT(*) FROM visits v JOIN wards a ON a.ward = v.ward JOIN wards b ON b.region = a.region
=> ((visits JOIN wards ON ward = ward MOST 1 GIVES region) JOIN wards ON region = region) | count=COUNT(*) | show count

SELECT a.size, b.size, COUNT(*) FROM visits v JOIN wards a ON a.ward = v.ward JOIN wards b ON b.ward = v.ward GROUP BY 1, 2
=> ((visits JOIN wards ON ward = ward MOST 1 GIVES size) JOIN wards ON ward = ward MOST 1 GIVES size AS wards_size) | by size=size, size_2=wards_size | count=COUNT(*) | show size, size_2, count

SELECT wards.ward, COUNT(*) FROM visits JOIN wards USING (ward) GROUP BY wards.ward
=> (visits JOIN wards ON ward = ward MOST 1 GIVES ward AS wards_ward) | by ward=wards_ward | count=COUNT(*) | show ward, count

SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM wards WHERE region = 'N')
=> (visits LEFT JOIN wards ON ward = ward MOST 1 GIVES ward AS wards_ward, region AS wards_region) | where CASE WHEN (ward IS NULL) THEN NULL ELSE ((NOT (wards_ward IS NULL)) AND COALESCE((wards_region = 'N'), FALSE)) END | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE ward NOT IN (SELECT w.ward FROM wards w)
=> (visits LEFT JOIN wards ON ward = ward MOST 1 GIVES ward AS wards_ward) | where (NOT CASE WHEN (ward IS NULL) THEN NULL ELSE (NOT (wards_ward IS NULL)) END) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE ward IN (SELECT region FROM wards)
=> REFUSED: not-by-key: IN

SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM prices)
=> REFUSED: not-by-key: IN

SELECT COUNT(*) FROM visits WHERE COALESCE(ward, 'A') IN (SELECT ward FROM wards)
=> REFUSED: not-by-key: IN

SELECT COUNT(*) FROM visits v JOIN wards w ON v.age = w.ward
=> REFUSED: type-mismatch: = … mixes

SELECT COUNT(*) FROM visits v JOIN wards w ON v.age + 1 = w.size
=> REFUSED: missing-join-condition: 'w'

SELECT COUNT(*) FROM visits v JOIN (SELECT size + 1 AS s FROM wards) w ON v.age = w.s
=> REFUSED: computed-column: 'w'

SELECT COUNT(*) FROM visits v JOIN wards w ON v.ward < w.ward
=> REFUSED: missing-join-condition: 'w'

SELECT COUNT(*) FROM visits JOIN wards
=> REFUSED: missing-join-condition: 'wards'

SELECT COUNT(*) FROM visits, wards
=> REFUSED: missing-join-condition: 'wards'

SELECT COUNT(*) FROM visits CROSS JOIN wards
=> REFUSED: unsupported-sql: CROSS

SELECT COUNT(*) FROM visits NATURAL JOIN wards
=> REFUSED: unsupported-sql: NATURAL

SELECT COUNT(*) FROM visits NATURAL LEFT JOIN wards
=> REFUSED: unsupported-sql: NATURAL

SELECT COUNT(*) FROM visits RIGHT JOIN wards USING (ward)
=> REFUSED: unsupported-sql: RIGHT

SELECT COUNT(*) FROM visits FULL OUTER JOIN wards USING (ward)
=> REFUSED: unsupported-sql: FULL

SELECT COUNT(*) FROM visits SEMI JOIN wards USING (ward)
=> REFUSED: unsupported-sql: SEMI

SELECT COUNT(*) FROM visits ANTI JOIN wards USING (ward)
=> REFUSED: unsupported-sql: ANTI

SELECT COUNT(*) FROM visits ASOF JOIN wards USING (ward)
=> REFUSED: unsupported-sql: ASOF

SELECT COUNT(*) FROM visits LEFT SEMI JOIN wards USING (ward)
=> REFUSED: unsupported-sql: SEMI

SELECT COUNT(*) FROM wards LEFT JOIN visits USING (ward)
=> REFUSED: private-table-needed: LEFT JOIN

SELECT COUNT(*) FROM wards JOIN prices USING (ward)
=> REFUSED: private-table-needed: tables

SELECT COUNT(*) FROM wards
=> wards | count=COUNT(*) | show count

SELECT ward, COUNT(*) FROM visits JOIN wards ON visits.ward = wards.ward GROUP BY ward
=> REFUSED: ambiguous-name: 'ward' … 'visits' … 'wards'

SELECT COUNT(*) FROM visits v JOIN wards v ON v.ward = v.ward
=> REFUSED: duplicate-name: FROM … 'v'

SELECT COUNT(*) FROM visits JOIN visits USING (patient_id)
=> REFUSED: duplicate-name: FROM … 'visits'

SELECT COUNT(*) FROM visits JOIN wards USING (city)
=> REFUSED: unknown-column: 'city'

SELECT COUNT(*) FROM visits JOIN wards USING (size)
=> REFUSED: unknown-column: 'size'

SELECT COUNT(*) FROM visits JOIN wards ON visits.ward = wards.war
=> REFUSED: unknown-column: 'war'

SELECT COUNT(*) FROM visits JOIN wards ON visits.ward = w.ward
=> REFUSED: unknown-table: 'w' … FROM

SELECT COUNT(*) FROM visits v JOIN wards w ON v.ward = w.ward WHERE visits.age > 3
=> REFUSED: unknown-table: 'visits' … FROM

SELECT COUNT(*) FROM visits v JOIN wards w ON w.ward = p.ward JOIN prices p ON p.ward = v.ward
=> REFUSED: wrong-order: ON … 'p'

SELECT COUNT(*) FROM visits v JOIN wards w USING (ward) JOIN prices p USING (ward) WHERE p.price > w.size
=> ((visits JOIN wards ON ward = ward MOST 1 GIVES size) JOIN prices ON ward = ward GIVES price) | where (price > size) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits v JOIN wards w ON v.ward = w.ward JOIN prices p USING (ward)
=> REFUSED: ambiguous-name: USING … 'v' … 'w'

SELECT COUNT(*) FROM visits v JOIN wards w ON v.patient_id = w.size
=> REFUSED: unit-as-value: 'patient_id'

SELECT SUM(x) FROM "Odd Name" JOIN wards ON "Odd Name".x = wards.size
=> REFUSED: unbounded-join: 'wards'

SELECT SUM(x) FROM "Odd Name" o JOIN (SELECT * FROM wards WHERE size > 3) w ON o.x = w.size
=> REFUSED: unbounded-join: 'w'

SELECT COUNT(*) FROM "Odd Name" o JOIN visits v ON o.x = v.age
=> REFUSED: rows-are-units: private

SELECT COUNT(*) FROM visits JOIN nowhere USING (ward)
=> REFUSED: unknown-table: 'nowhere'

SELECT COUNT(*) FROM visits JOIN read_csv('x') USING (ward)
=> REFUSED: unsupported-function: READ_CSV

# Private tables by the unit

SELECT sex, AVG(cost) AS c FROM visits JOIN patients USING (patient_id) GROUP BY sex
=> (visits JOIN patients BY UNIT MOST 1 GIVES sex) | by sex=sex | c=AVG(cost) | show sex, c

SELECT p.sex, AVG(v.cost) AS c FROM patients p JOIN visits v ON v.patient_id = p.patient_id GROUP BY p.sex
=> (patients JOIN visits BY UNIT MOST 50 GIVES cost) | by sex=sex | c=AVG(cost) | show sex, c

SELECT sex, SUM(nights) FROM patients, stays WHERE patients.patient_id = stays.pid AND nights > 2 GROUP BY sex
=> (patients JOIN stays BY UNIT MOST 4 GIVES nights) | where (nights > 2) | by sex=sex | sum_nights=SUM(nights) | show sex, sum_nights

SELECT COUNT(*) FROM visits v JOIN stays s ON s.pid = v.patient_id AND s.ward = v.ward AND s.day < v.day
=> (visits JOIN stays BY UNIT ON ward = ward MOST 4 GIVES day AS stays_day) | where (stays_day < day) | count=COUNT(*) | show count

SELECT sex, COUNT(*) FROM patients p LEFT JOIN stays s ON s.pid = p.patient_id GROUP BY sex
=> (patients LEFT JOIN stays BY UNIT MOST 4) | by sex=sex | count=COUNT(*) | show sex, count

SELECT COUNT(*) FROM visits a JOIN visits b USING (patient_id) WHERE a.day < b.day
=> (visits JOIN visits BY UNIT MOST 50 GIVES day AS visits_day) | where (day < visits_day) | count=COUNT(*) | show count

SELECT region, COUNT(DISTINCT v.patient_id) FROM visits v JOIN patients p USING (patient_id) JOIN wards w ON w.ward = v.ward GROUP BY region
=> ((visits JOIN patients BY UNIT MOST 1) JOIN wards ON ward = ward MOST 1 GIVES region) | by region=region | count_distinct=COUNT(DISTINCT patient_id) | show region, count_distinct

SELECT COUNT(*) FROM visits v JOIN patients p ON v.patient_id = p.patient_id JOIN stays s ON s.pid = p.patient_id AND s.pid = v.patient_id
=> ((visits JOIN patients BY UNIT MOST 1) JOIN stays BY UNIT MOST 4) | count=COUNT(*) | show count

SELECT patients.ward, visits.ward, COUNT(*) FROM visits JOIN patients USING (patient_id) GROUP BY ALL
=> (visits JOIN patients BY UNIT MOST 1 GIVES ward AS patients_ward) | by ward=patients_ward, ward_2=ward | count=COUNT(*) | show ward, ward_2, count

SELECT AVG(patients.born) FROM visits JOIN patients USING (patient_id) WHERE patients.ward = visits.ward
=> (visits JOIN patients BY UNIT ON ward = ward MOST 1 GIVES born) | avg_born=AVG(born) | show avg_born

SELECT COUNT(DISTINCT patient_id) FROM visits JOIN patients USING (patient_id)
=> (visits JOIN patients BY UNIT MOST 1) | count_distinct=COUNT(DISTINCT patient_id) | show count_distinct

SELECT COUNT(*) FROM visits v JOIN stays s ON v.ward = s.ward
=> REFUSED: not-per-unit: 's'

SELECT COUNT(*) FROM visits v, stays s
=> REFUSED: not-per-unit: 's'

SELECT COUNT(*) FROM visits v LEFT JOIN stays s ON s.pid = v.patient_id AND s.nights > 3
=> REFUSED: unsupported-join: LEFT JOIN … condition … 's'

SELECT COUNT(*) FROM visits v LEFT JOIN patients p ON p.patient_id = v.patient_id AND p.sex = 'F' WHERE p.born > 1950
=> (visits LEFT JOIN patients BY UNIT MOST 1 GIVES sex, born) | where (CASE WHEN (sex = 'F') THEN born ELSE NULL END > 1950) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits v LEFT JOIN stays s ON s.pid = v.patient_id WHERE s.pid IS NULL
=> ((visits LEFT JOIN stays BY UNIT MOST 4) LEFT JOIN (stays BY UNIT found=COUNT(*)) BY UNIT GIVES found AS stays_found) | where (stays_found IS NULL) | count=COUNT(*) | show count

SELECT CASE WHEN p.patient_id IS NOT NULL THEN 'known' ELSE 'new' END AS who, AVG(cost) AS c FROM visits v LEFT JOIN patients p USING (patient_id) GROUP BY who
=> ((visits LEFT JOIN patients BY UNIT MOST 1) LEFT JOIN (patients BY UNIT found=COUNT(*)) BY UNIT GIVES found AS patients_found) | by who=CASE WHEN (NOT (patients_found IS NULL)) THEN 'known' ELSE 'new' END | c=AVG(cost) | show who, c

SELECT COUNT(*) FROM visits v LEFT JOIN stays s ON s.pid = v.patient_id AND s.ward = v.ward WHERE s.pid IS NULL
=> REFUSED: unit-as-value: 's.pid' … LEFT JOIN

SELECT COUNT(*) FROM visits v LEFT JOIN stays s ON s.pid = v.patient_id WHERE s.pid = 7
=> REFUSED: unit-as-value: 's.pid' … LEFT JOIN

SELECT COUNT(DISTINCT s.pid) FROM visits v LEFT JOIN stays s ON s.pid = v.patient_id
=> REFUSED: unit-as-value: 's.pid' … computes

SELECT COUNT(*) FROM visits v LEFT JOIN patients p ON p.patient_id = v.patient_id JOIN stays s ON s.pid = p.patient_id
=> REFUSED: unsupported-join: 's' … 'p' … LEFT JOIN

SELECT COUNT(*) FROM visits v JOIN stays s ON v.patient_id = s.nights
=> REFUSED: not-per-unit: 's'

SELECT COUNT(*) FROM visits v JOIN stays s ON v.patient_id > s.pid
=> REFUSED: not-per-unit: 's'

SELECT COUNT(*) FROM visits v JOIN stays s ON v.patient_id = s.pid OR s.nights > 3
=> REFUSED: not-per-unit: 's'

SELECT COUNT(*) FROM visits v JOIN patients p USING (patient_id) WHERE ward = 'A'
=> REFUSED: ambiguous-name: 'ward' … 'v' … 'p'

SELECT COUNT(*) FROM visits v JOIN patients p ON v.patient_id = p.patient_id WHERE patient_id = 3
=> REFUSED: ambiguous-name: 'patient_id' … 'v' … 'p'

SELECT patient_id, COUNT(*) FROM visits JOIN patients USING (patient_id) GROUP BY patient_id
=> REFUSED: unit-as-value: 'patient_id'

SELECT * FROM visits JOIN patients USING (patient_id)
=> REFUSED: no-aggregate: SELECT … *

# Sub-queries and WITH: each row for itself

SELECT AVG(c) FROM (SELECT cost * 2 AS c FROM visits WHERE age > 18) AS t
=> visits | where (age > 18) | avg=AVG((cost * 2)) | show avg

SELECT decade, COUNT(*) FROM (SELECT FLOOR(age / 10) * 10 AS decade, smoker FROM visits) t WHERE t.smoker GROUP BY t.decade
=> visits | where smoker | by decade=(floor((age * (1 / 10))) * 10) | count=COUNT(*) | show decade, count

WITH old AS (SELECT * FROM visits WHERE age >= 65) SELECT ward, COUNT(*) AS n FROM old GROUP BY ward
=> visits | where (age >= 65) | by ward=ward | n=COUNT(*) | show ward, n

WITH a AS (SELECT cost AS x, patient_id FROM visits WHERE smoker), b AS (SELECT x + 1 AS x, patient_id FROM a WHERE x > 3) SELECT SUM(x), COUNT(DISTINCT patient_id) FROM b WHERE x < 9
=> visits | where ((smoker AND (cost > 3)) AND ((cost + 1) < 9)) | sum=SUM((cost + 1)), count_distinct=COUNT(DISTINCT patient_id) | show sum, count_distinct

WITH visits AS (SELECT * FROM visits WHERE age > 3) SELECT COUNT(*) FROM visits
=> visits | where (age > 3) | count=COUNT(*) | show count

SELECT COUNT(*) FROM (SELECT v.*, w.size FROM visits v JOIN wards w USING (ward)) t WHERE t.size > t.age
=> (visits JOIN wards ON ward = ward MOST 1 GIVES size) | where (size > age) | count=COUNT(*) | show count

SELECT COUNT(*) FROM (SELECT * FROM (SELECT * FROM (SELECT age FROM visits)))
=> visits | count=COUNT(*) | show count

SELECT COUNT(*) FROM (SELECT cost, cost + 1 FROM visits)
=> visits | count=COUNT(*) | show count

SELECT COUNT(*) FROM (WITH t AS (SELECT age FROM visits) SELECT * FROM t WHERE age > 3) u
=> visits | where (age > 3) | count=COUNT(*) | show count

SELECT region, COUNT(*) FROM visits JOIN (SELECT ward, region FROM wards WHERE size > 9) w ON w.ward = visits.ward GROUP BY region
=> (visits JOIN wards ON ward = ward MOST 1 GIVES size, region) | where (size > 9) | by region=region | count=COUNT(*) | show region, count

SELECT big, COUNT(*) FROM visits LEFT JOIN (SELECT ward, size > 50 AS big FROM wards) w USING (ward) GROUP BY big
=> (visits LEFT JOIN wards ON ward = ward MOST 1 GIVES size) | by big=(size > 50) | count=COUNT(*) | show big, count

SELECT one, COUNT(*) FROM visits LEFT JOIN (SELECT ward, 1 AS one FROM wards) w USING (ward) GROUP BY one
=> (visits LEFT JOIN wards ON ward = ward MOST 1 GIVES ward AS wards_ward) | by one=CASE WHEN (NOT (wards_ward IS NULL)) THEN 1 ELSE NULL END | count=COUNT(*) | show one, count

SELECT COUNT(n) FROM visits v LEFT JOIN (SELECT pid, COALESCE(nights, 0) AS n FROM stays) s ON s.pid = v.patient_id
=> REFUSED: computed-column: LEFT JOIN … 'n'

SELECT COUNT(n) FROM visits v LEFT JOIN (SELECT pid, nights AS n FROM stays) s ON s.pid = v.patient_id
=> (visits LEFT JOIN stays BY UNIT MOST 4 GIVES nights) | count_nights=COUNT(nights) | show count_nights

SELECT age FROM (SELECT age FROM visits)
=> REFUSED: no-aggregate: query … themselves

SELECT COUNT(*) FROM (SELECT age, cost AS age FROM visits)
=> REFUSED: duplicate-name: 'age'

SELECT COUNT(*) FROM (SELECT * FROM visits v JOIN patients p USING (patient_id))
=> REFUSED: duplicate-name: 'ward'

SELECT SUM(cost) FROM (SELECT age FROM visits)
=> REFUSED: unknown-column: 'cost'

SELECT SUM(t.age) FROM (SELECT age FROM visits) u
=> REFUSED: unknown-table: 't' … FROM

SELECT COUNT(*) FROM (SELECT age FROM visits ORDER BY age)
=> REFUSED: unsupported-sql: ORDER BY … answered

SELECT COUNT(*) FROM (SELECT age FROM visits LIMIT 10)
=> REFUSED: unsupported-sql: LIMIT … answered … here

SELECT COUNT(*) FROM (SELECT agee FROM visits)
=> REFUSED: unknown-column: 'agee'

SELECT COUNT(*) FROM (SELECT w.* FROM visits)
=> REFUSED: unknown-table: 'w' … FROM

SELECT COUNT(*) FROM (SELECT 1)
=> REFUSED: missing-name: FROM

SELECT COUNT(*) FROM (VALUES (1)) t
=> REFUSED: unsupported-function: VALUES

SELECT COUNT(*) FROM (visits JOIN wards USING (ward))
=> REFUSED: unsupported-sql: SELECT

WITH t AS (SELECT age FROM visits) SELECT COUNT(*) FROM s
=> REFUSED: unknown-table: 's'

WITH t (a) AS (SELECT age FROM visits) SELECT SUM(a) FROM t
=> REFUSED: unsupported-sql: T lists

SELECT SUM(a) FROM (SELECT age FROM visits) AS t (a)
=> REFUSED: unsupported-sql: T lists

WITH RECURSIVE t AS (SELECT age FROM visits) SELECT COUNT(*) FROM t
=> REFUSED: unsupported-sql: RECURSIVE

WITH t AS (SELECT age FROM t) SELECT COUNT(*) FROM t
=> REFUSED: unknown-table: 't'

SELECT COUNT(*) FROM visits, LATERAL (SELECT 1) t
=> REFUSED: unsupported-function: LATERAL

SELECT COUNT(*) FROM visits WHERE age > (SELECT AVG(age) FROM visits)
=> REFUSED: misplaced-subquery: needed

SELECT COUNT(*), (SELECT COUNT(*) FROM patients) FROM visits
=> REFUSED: misplaced-subquery: SELECT

SELECT COUNT(*) FROM visits HAVING COUNT(*) > (SELECT 1 FROM patients)
=> REFUSED: misplaced-subquery: HAVING

SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING ward IN (SELECT ward FROM wards)
=> REFUSED: misplaced-subquery: HAVING

SELECT COUNT(*) FROM visits WHERE age = ANY (SELECT age FROM visits)
=> REFUSED: unsupported-function: ANY is

# Sub-queries with one row for each unit

SELECT AVG(total) AS a FROM (SELECT patient_id, LEAST(SUM(cost), 5000) AS total FROM visits GROUP BY patient_id) t
=> (visits BY UNIT sum_cost=SUM(cost)) | a=AVG(LEAST(sum_cost, 5000)) | show a

WITH per AS (SELECT patient_id, COUNT(*) AS n FROM visits WHERE age > 18 GROUP BY patient_id) SELECT n, COUNT(*) FROM per WHERE n <= 5 GROUP BY n
=> (visits WHERE (age > 18) BY UNIT count=COUNT(*)) | where (count <= 5) | by n=count | count=COUNT(*) | show n, count

SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING SUM(cost) > 100 AND COUNT(*) > 2)
=> (visits BY UNIT sum_cost=SUM(cost), count=COUNT(*)) | where ((sum_cost > 100) AND (count > 2)) | count=COUNT(*) | show count

SELECT ward, AVG(LEAST(c, 99)) FROM (SELECT patient_id, ward, SUM(cost) AS c FROM visits GROUP BY 1, 2) GROUP BY ward
=> (visits BY UNIT ward=ward, sum_cost=SUM(cost)) | by ward=ward | avg=AVG(LEAST(sum_cost, 99)) | show ward, avg

SELECT month, COUNT(*) FROM (SELECT patient_id, date_trunc('month', MIN(day)) AS month FROM visits GROUP BY patient_id) GROUP BY month
=> (visits BY UNIT min_day=MIN(day)) | by month=date_trunc('month', min_day) | count=COUNT(*) | show month, count

SELECT AVG(LEAST(n, 10)) FROM (SELECT patient_id AS who, COUNT(DISTINCT ward) AS n, AVG(age), MAX(smoker) FROM visits GROUP BY who)
=> (visits BY UNIT count_distinct_ward=COUNT(DISTINCT ward)) | avg=AVG(LEAST(count_distinct_ward, 10)) | show avg

SELECT COUNT(*) FROM (SELECT DISTINCT patient_id FROM visits WHERE smoker)
=> (visits WHERE smoker BY UNIT) | count=COUNT(*) | show count

SELECT ward, COUNT(*) FROM (SELECT DISTINCT patient_id, ward FROM visits) GROUP BY ward
=> (visits BY UNIT ward=ward) | by ward=ward | count=COUNT(*) | show ward, count

SELECT sex, AVG(LEAST(s, 500)) FROM patients JOIN (SELECT patient_id, SUM(cost) AS s FROM visits GROUP BY patient_id) t USING (patient_id) GROUP BY sex
=> (patients JOIN (visits BY UNIT sum_cost=SUM(cost)) BY UNIT GIVES sum_cost) | by sex=sex | avg=AVG(LEAST(sum_cost, 500)) | show sex, avg

SELECT sex, AVG(LEAST(COALESCE(s, 0), 500)) FROM patients LEFT JOIN (SELECT patient_id, SUM(cost) AS s FROM visits GROUP BY patient_id) t USING (patient_id) GROUP BY sex
=> (patients LEFT JOIN (visits BY UNIT sum_cost=SUM(cost)) BY UNIT GIVES sum_cost) | by sex=sex | avg=AVG(LEAST(COALESCE(sum_cost, 0), 500)) | show sex, avg

SELECT AVG(s) FROM patients LEFT JOIN (SELECT patient_id, LEAST(SUM(cost), 9) AS s FROM visits GROUP BY ALL HAVING MAX(age) > 3) t USING (patient_id)
=> (patients LEFT JOIN (visits BY UNIT sum_cost=SUM(cost), max_age=MAX(age), rows=COUNT(*)) BY UNIT GIVES sum_cost, max_age, rows) | avg=AVG(CASE WHEN ((NOT (rows IS NULL)) AND (max_age > 3)) THEN LEAST(sum_cost, 9) ELSE NULL END) | show avg

SELECT SUM(n) FROM patients p LEFT JOIN (SELECT pid, ward, COUNT(*) AS n FROM stays GROUP BY pid, ward) t ON t.pid = p.patient_id
=> (patients LEFT JOIN (stays BY UNIT ward=ward, count=COUNT(*)) BY UNIT MOST 4 GIVES count) | sum_count=SUM(count) | show sum_count

SELECT SUM(n) FROM patients p LEFT JOIN (SELECT pid, ward, LEAST(COUNT(*), 9) AS n FROM stays GROUP BY pid, ward) t ON t.pid = p.patient_id AND t.ward = p.ward
=> (patients LEFT JOIN (stays BY UNIT ward=ward, count=COUNT(*)) BY UNIT ON ward = ward MOST 4 GIVES count) | sum=SUM(CASE WHEN (NOT (count IS NULL)) THEN LEAST(count, 9) ELSE NULL END) | show sum

SELECT AVG(LEAST(top, 9)) FROM (SELECT patient_id, MAX(n) AS top FROM (SELECT patient_id, ward, COUNT(*) AS n FROM visits GROUP BY patient_id, ward) GROUP BY patient_id)
=> ((visits BY UNIT ward=ward, count=COUNT(*)) BY UNIT max_count=MAX(count)) | avg=AVG(LEAST(max_count, 9)) | show avg

SELECT AVG(LEAST(s, 9)) FROM (SELECT v.patient_id, SUM(w.size) AS s FROM visits v JOIN wards w USING (ward) GROUP BY v.patient_id)
=> ((visits JOIN wards ON ward = ward MOST 1 GIVES size) BY UNIT sum_size=SUM(size)) | avg=AVG(LEAST(sum_size, 9)) | show avg

SELECT COUNT(DISTINCT patient_id) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) WHERE n > 3
=> (visits BY UNIT count=COUNT(*)) | where (count > 3) | count_distinct=COUNT(DISTINCT patient_id) | show count_distinct

SELECT AVG(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)
=> REFUSED: not-per-unit: aggregates

SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM visits)
=> REFUSED: not-per-unit: aggregates

SELECT COUNT(*) FROM (SELECT DISTINCT ward FROM visits)
=> REFUSED: not-per-unit: aggregates

SELECT COUNT(*) FROM (SELECT DISTINCT ON (patient_id) age FROM visits)
=> REFUSED: unsupported-sql: DISTINCT … answered

SELECT COUNT(*) FROM (SELECT DISTINCT patient_id, COUNT(*) FROM visits GROUP BY patient_id)
=> REFUSED: unsupported-sql: DISTINCT … aggregates

SELECT COUNT(*) FROM (SELECT patient_id, age FROM visits GROUP BY patient_id)
=> REFUSED: not-grouped: 'age'

SELECT AVG(m) FROM (SELECT patient_id, MEDIAN(age) AS m FROM visits GROUP BY patient_id)
=> REFUSED: unsupported-function: 'MEDIAN(age)'

SELECT AVG(m) FROM (SELECT patient_id, SUM(cost) / COUNT(*) AS m FROM visits GROUP BY patient_id)
=> (visits BY UNIT sum_cost=SUM(cost), count=COUNT(*)) | avg=AVG((sum_cost / count)) | show avg

SELECT AVG(m) FROM (SELECT patient_id, SUM(cost) / 3 AS m FROM visits GROUP BY patient_id)
=> (visits BY UNIT sum_cost=SUM(cost)) | avg=AVG((sum_cost * (1 / 3))) | show avg

SELECT AVG(n) FROM (SELECT patient_id, COUNT(DISTINCT patient_id) AS n FROM visits GROUP BY patient_id)
=> REFUSED: constant-value: 'patient_id'

SELECT COUNT(*) FROM (SELECT patient_id, ward, COUNT(*) FROM visits GROUP BY ROLLUP (patient_id, ward))
=> REFUSED: unsupported-sql: 'ROLLUP (patient_id, ward)'

SELECT COUNT(*) FROM (SELECT patient_id, COUNT(*) FROM visits GROUP BY patient_id WITH ROLLUP)
=> REFUSED: unsupported-sql: ROLLUP … answered

SELECT COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id ORDER BY n DESC LIMIT 3)
=> REFUSED: unsupported-sql: LIMIT … answered … here

SELECT COUNT(*) FROM (SELECT ward, COUNT(*) FROM wards GROUP BY ward)
=> REFUSED: private-table-needed: aggregates

SELECT COUNT(*) FROM (SELECT x, COUNT(*) FROM "Odd Name" GROUP BY x)
=> REFUSED: rows-are-units: aggregates

SELECT AVG(s) FROM (SELECT patient_id, SUM(ward) AS s FROM visits GROUP BY patient_id)
=> REFUSED: type-mismatch: SUM … text

SELECT SUM(n) FROM patients p LEFT JOIN (SELECT pid, ward, COUNT(*) AS n FROM stays GROUP BY pid, ward HAVING COUNT(*) > 3) t ON t.pid = p.patient_id
=> REFUSED: unsupported-join: LEFT JOIN … 't'

SELECT SUM(n) FROM patients p JOIN (SELECT ward, COUNT(*) AS n FROM stays GROUP BY pid, ward) t ON t.ward = p.ward
=> REFUSED: not-per-unit: 't'

# Who is also in another table

SELECT COUNT(*) FROM visits WHERE patient_id IN (SELECT pid FROM stays)
=> (visits LEFT JOIN (stays BY UNIT found=COUNT(*)) BY UNIT GIVES found AS stays_found) | where (NOT (stays_found IS NULL)) | count=COUNT(*) | show count

SELECT ward, COUNT(*) FROM visits WHERE age > 3 AND patient_id NOT IN (SELECT pid FROM stays WHERE nights > 3) GROUP BY ward
=> (visits LEFT JOIN (stays WHERE (nights > 3) BY UNIT found=COUNT(*)) BY UNIT GIVES found AS stays_found) | where ((age > 3) AND (NOT (NOT (stays_found IS NULL)))) | by ward=ward | count=COUNT(*) | show ward, count

SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM stays s WHERE s.pid = p.patient_id AND s.nights > 3)
=> (patients LEFT JOIN (stays WHERE (nights > 3) BY UNIT found=COUNT(*)) BY UNIT GIVES found AS stays_found) | where (NOT (stays_found IS NULL)) | count=COUNT(*) | show count

SELECT COUNT(*) FROM patients p WHERE born > 1950 OR NOT EXISTS (SELECT * FROM visits WHERE patient_id = p.patient_id)
=> (patients LEFT JOIN (visits BY UNIT found=COUNT(*)) BY UNIT GIVES found AS visits_found) | where ((born > 1950) OR (NOT (NOT (visits_found IS NULL)))) | count=COUNT(*) | show count

SELECT COUNT(*) FROM patients WHERE patient_id IN (SELECT patient_id FROM visits GROUP BY patient_id HAVING COUNT(*) >= 3)
=> (patients LEFT JOIN ((visits BY UNIT count=COUNT(*)) WHERE (count >= 3) BY UNIT found=COUNT(*)) BY UNIT GIVES found AS visits_found) | where (NOT (visits_found IS NULL)) | count=COUNT(*) | show count

SELECT COUNT(*) FROM patients WHERE patient_id IN (SELECT DISTINCT patient_id FROM visits WHERE smoker)
=> (patients LEFT JOIN (visits WHERE smoker BY UNIT found=COUNT(*)) BY UNIT GIVES found AS visits_found) | where (NOT (visits_found IS NULL)) | count=COUNT(*) | show count

SELECT AVG(CASE WHEN patient_id IN (SELECT pid FROM stays) THEN cost END) FROM visits
=> (visits LEFT JOIN (stays BY UNIT found=COUNT(*)) BY UNIT GIVES found AS stays_found) | avg=AVG(CASE WHEN (NOT (stays_found IS NULL)) THEN cost ELSE NULL END) | show avg

SELECT patient_id IN (SELECT pid FROM stays) AS stayed, COUNT(*) FROM visits GROUP BY stayed
=> (visits LEFT JOIN (stays BY UNIT found=COUNT(*)) BY UNIT GIVES found AS stays_found) | by stayed=(NOT (stays_found IS NULL)) | count=COUNT(*) | show stayed, count

SELECT COUNT(*) FROM visits WHERE patient_id IN (SELECT pid FROM stays) AND (patient_id IN (SELECT pid FROM stays) OR smoker)
=> (visits LEFT JOIN (stays BY UNIT found=COUNT(*)) BY UNIT GIVES found AS stays_found) | where ((NOT (stays_found IS NULL)) AND ((NOT (stays_found IS NULL)) OR smoker)) | count=COUNT(*) | show count

SELECT COUNT(*) FROM (SELECT * FROM visits WHERE patient_id IN (SELECT pid FROM stays)) JOIN patients USING (patient_id)
=> ((visits LEFT JOIN (stays BY UNIT found=COUNT(*)) BY UNIT GIVES found AS stays_found) JOIN patients BY UNIT MOST 1) | where (NOT (stays_found IS NULL)) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE patient_id IN (SELECT nights FROM stays)
=> REFUSED: not-per-unit: give

SELECT COUNT(*) FROM visits WHERE patient_id IN (SELECT pid, nights FROM stays)
=> REFUSED: wrong-shape: IN

SELECT COUNT(*) FROM visits WHERE patient_id IN (SELECT * FROM stays)
=> REFUSED: wrong-shape: IN

SELECT COUNT(*) FROM visits WHERE patient_id IN (1, 2)
=> REFUSED: unit-as-value: 'patient_id'

SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM stays s)
=> REFUSED: not-per-unit: EXISTS

SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM stays s WHERE s.ward = v.ward)
=> REFUSED: not-per-unit: EXISTS

SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM stays s WHERE s.pid = v.patient_id AND s.ward = v.ward)
=> REFUSED: correlated-subquery: 'v.ward'

SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM stays s WHERE s.pid = v.patient_id GROUP BY s.ward)
=> REFUSED: unsupported-sql: GROUP BY

SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM stays s WHERE s.pid = v.patient_id LIMIT 1)
=> REFUSED: unsupported-sql: LIMIT … answered … here

SELECT COUNT(*) FROM visits v WHERE v.patient_id IN (SELECT pid FROM stays s WHERE s.nights > v.age)
=> REFUSED: correlated-subquery: 'v.age'

SELECT COUNT(*) FROM visits v WHERE v.patient_id IN (SELECT pid FROM stays s WHERE s.pid = v.patient_id)
=> REFUSED: correlated-subquery: tied

SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM wards w WHERE w.ward = v.ward)
=> REFUSED: not-per-unit: EXISTS

SELECT COUNT(*) FROM visits v WHERE v.patient_id IN (SELECT pid FROM stays s WHERE s.nights > smoker)
=> REFUSED: correlated-subquery: 'smoker'

SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM stays WHERE pid = w.patient_id)
=> REFUSED: unknown-table: 'w' … FROM

# Roll-ups

SELECT ward, smoker, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward, smoker)
=> visits | by ward=ward, smoker=smoker | levels (ward, smoker) (ward) () | n=COUNT(*) | show ward, smoker, n

SELECT ward, smoker, COUNT(*) AS n FROM visits GROUP BY CUBE (ward, smoker)
=> visits | by ward=ward, smoker=smoker | levels (ward, smoker) (ward) (smoker) () | n=COUNT(*) | show ward, smoker, n

SELECT ward, smoker, COUNT(*) AS n FROM visits GROUP BY GROUPING SETS ((ward, smoker), (ward), ())
=> visits | by ward=ward, smoker=smoker | levels (ward, smoker) (ward) () | n=COUNT(*) | show ward, smoker, n

SELECT ward, smoker, COUNT(*) AS n FROM visits GROUP BY GROUPING SETS (ward, smoker, (ward, smoker))
=> visits | by ward=ward, smoker=smoker | levels (ward) (smoker) (ward, smoker) | n=COUNT(*) | show ward, smoker, n

SELECT ward, smoker, COUNT(*) AS n FROM visits GROUP BY ward, smoker WITH ROLLUP
=> visits | by ward=ward, smoker=smoker | levels (ward, smoker) (ward) () | n=COUNT(*) | show ward, smoker, n

SELECT ward, smoker, COUNT(*) AS n FROM visits GROUP BY ward, smoker WITH CUBE
=> visits | by ward=ward, smoker=smoker | levels (ward, smoker) (ward) (smoker) () | n=COUNT(*) | show ward, smoker, n

SELECT ward, smoker, COUNT(*) AS n FROM visits GROUP BY ward, ROLLUP (smoker)
=> visits | by ward=ward, smoker=smoker | levels (ward, smoker) (ward) | n=COUNT(*) | show ward, smoker, n

SELECT ward, smoker, day, COUNT(*) FROM visits GROUP BY ROLLUP (ward, (smoker, day))
=> visits | by ward=ward, smoker=smoker, day=day | levels (ward, smoker, day) (ward) () | count=COUNT(*) | show ward, smoker, day, count

SELECT ward, smoker, COUNT(*) FROM visits GROUP BY ROLLUP (1, 2) ORDER BY 1, 2
=> visits | by ward=ward, smoker=smoker | levels (ward, smoker) (ward) () | count=COUNT(*) | show ward, smoker, count | order ward, smoker

SELECT FLOOR(age / 10) AS decade, ward AS w, COUNT(*) FROM visits GROUP BY ROLLUP (decade, w) HAVING COUNT(*) > 3
=> visits | by decade=floor((age * (1 / 10))), w=ward | levels (decade, w) (decade) () | count=COUNT(*) | show decade, w, count | having (count > 3)

SELECT ward, COUNT(*) FROM visits GROUP BY GROUPING SETS ((ward))
=> visits | by ward=ward | count=COUNT(*) | show ward, count

SELECT ward, COUNT(*) FROM visits GROUP BY GROUPING SETS ((ward), (ward), ())
=> visits | by ward=ward | levels (ward) () | count=COUNT(*) | show ward, count

SELECT ward, smoker, COUNT(*) FROM visits GROUP BY GROUPING SETS (ROLLUP (ward, smoker), (smoker))
=> visits | by ward=ward, smoker=smoker | levels (ward, smoker) (ward) () (smoker) | count=COUNT(*) | show ward, smoker, count

SELECT region, ward, COUNT(*) FROM visits JOIN wards USING (ward) GROUP BY ROLLUP (region, ward)
=> (visits JOIN wards ON ward = ward MOST 1 GIVES region) | by region=region, ward=ward | levels (region, ward) (region) () | count=COUNT(*) | show region, ward, count

SELECT COUNT(*) FROM visits GROUP BY ROLLUP (ward)
=> visits | by ward=ward | levels (ward) () | count=COUNT(*) | show count

SELECT ward, GROUPING(ward), COUNT(*) FROM visits GROUP BY ROLLUP (ward)
=> REFUSED: unsupported-function: GROUPING

SELECT ward, age, COUNT(*) FROM visits GROUP BY ROLLUP (ward)
=> REFUSED: not-grouped: 'age'

SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (ward, 'x')
=> REFUSED: constant-value: GROUP BY … "'x'"

SELECT COUNT(*) FROM visits GROUP BY CUBE (ward, smoker, day, date, city, age, cost)
=> REFUSED: too-many: GROUP BY … 64

SELECT ward, COUNT(*) FROM visits GROUP BY ward WITH TOTALS
=> REFUSED: unsupported-sql: WITH TOTALS

# Computing with aggregates

SELECT SUM(cost) / COUNT(*) AS mean FROM visits
=> visits | sum_cost=SUM(cost), count=COUNT(*) | computed mean=(sum_cost / count) | show mean

SELECT ward, 100.0 * AVG(smoker) AS percent, COUNT(*) AS n FROM visits GROUP BY ward
=> visits | by ward=ward | n=COUNT(*), avg=AVG(CASE WHEN smoker THEN 1 WHEN (NOT smoker) THEN 0 ELSE NULL END) | computed percent=(100 * avg) | show ward, percent, n

SELECT ward, SUM(CASE WHEN smoker THEN 1 ELSE 0 END) * 100 / COUNT(*) AS share FROM visits GROUP BY ward ORDER BY share DESC LIMIT 3
=> visits | by ward=ward | sum=SUM(CASE WHEN smoker THEN 1 ELSE 0 END), count=COUNT(*) | computed share=((sum * 100) / count) | show ward, share | order share desc | limit 3

SELECT MEDIAN(age) - MIN(age), MAX(age) - MEDIAN(age) AS up FROM visits
=> visits | median_age=QUANTILE(age, (1 / 2)), min_age=MIN(age), max_age=MAX(age) | computed computed=(median_age - min_age), up=(max_age - median_age) | show computed, up

SELECT SUM(cost) / NULLIF(COUNT(age), 0) AS c, COALESCE(AVG(cost), 0) AS d FROM visits
=> visits | sum_cost=SUM(cost), count_age=COUNT(age), avg_cost=AVG(cost) | computed c=(sum_cost / CASE WHEN (count_age = 0) THEN NULL ELSE count_age END), d=COALESCE(avg_cost, 0) | show c, d

SELECT SAFE_DIVIDE(SUM(cost), COUNT(*)) AS c FROM visits
=> visits | sum_cost=SUM(cost), count=COUNT(*) | computed c=(sum_cost / count) | show c

SELECT SUM(cost)::DOUBLE / COUNT(*) AS c, CAST(AVG(age) AS INTEGER) AS a FROM visits
=> visits | sum_cost=SUM(cost), count=COUNT(*), avg_age=AVG(age) | computed c=(sum_cost / count), a=round(avg_age) | show c, a

SELECT ward, CASE WHEN ward = 'A' THEN COUNT(*) ELSE 0 END AS a FROM visits GROUP BY ward
=> visits | by ward=ward | count=COUNT(*) | computed a=CASE WHEN (ward = 'A') THEN count ELSE 0 END | show ward, a

SELECT ward, COUNT(*) AS n, SUM(cost) / n AS c, c * 2 AS d FROM visits GROUP BY ward HAVING c > 3 ORDER BY d
=> visits | by ward=ward | n=COUNT(*), sum_cost=SUM(cost) | computed c=(sum_cost / n), d=((sum_cost / n) * 2) | show ward, n, c, d | having ((sum_cost / n) > 3) | order d

SELECT ward FROM visits GROUP BY ward ORDER BY SUM(cost) / COUNT(*) DESC LIMIT 3
=> visits | by ward=ward | sum_cost=SUM(cost), count=COUNT(*) | computed computed=(sum_cost / count) | show ward | order computed desc | limit 3

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) FILTER (WHERE smoker) / COUNT(*) > 0.5
=> visits | by ward=ward | n=COUNT(*), count=COUNT(CASE WHEN smoker THEN 1 ELSE NULL END) | show ward, n | having ((count / n) > (1 / 2))

SELECT GREATEST(COUNT(*), 0) AS n, LEAST(AVG(age), 100) AS a, ABS(SUM(cost)) AS s, COUNT(*) > 3 AS many FROM visits
=> visits | count=COUNT(*), avg_age=AVG(age), sum_cost=SUM(cost) | computed n=GREATEST(count, 0), a=LEAST(avg_age, 100), s=ABS(sum_cost), many=(count > 3) | show n, a, s, many

SELECT COUNT(*) / COUNT(*) AS one FROM visits
=> visits | count=COUNT(*) | computed one=(count / count) | show one

SELECT COUNT(*) FILTER (WHERE smoker) * 1.0 / COUNT(*) AS share FROM visits
=> visits | count=COUNT(CASE WHEN smoker THEN 1 ELSE NULL END), count_2=COUNT(*) | computed share=((count * 1) / count_2) | show share

SELECT COUNT(*) / 0 FROM visits
=> REFUSED: division-by-zero: 'COUNT(*) / 0' … by 0

SELECT AVG(cost) / ward FROM visits GROUP BY ward
=> REFUSED: type-mismatch: / … text

SELECT SUM(cost) / age FROM visits
=> REFUSED: not-grouped: 'age'

SELECT SUM(cost) + QUANTILE(age, [0.5, 0.9]) FROM visits
=> REFUSED: too-many: SELECT

SELECT SUM(cost / age) FROM visits
=> REFUSED: out-of-domain: SUM … GREATEST(age, 1)

SELECT SUM(SAFE_DIVIDE(cost, age)) FROM visits
=> visits | sum=SUM((cost / CASE WHEN (age = 0) THEN NULL ELSE age END)) | show sum

SELECT SQRT(AVG(cost)) FROM visits
=> visits | avg_cost=AVG(cost) | computed computed=SQRT(avg_cost) | show computed

SELECT EXP(AVG(LN(age))) AS gm FROM visits WHERE age > 0
=> visits | where (age > 0) | avg=AVG(LN(age)) | computed gm=EXP(avg) | show gm

SELECT COUNT(*) FROM visits GROUP BY cost / age
=> REFUSED: out-of-domain: GROUP BY

SELECT COUNT(*) AS n FROM visits HAVING LOG10(n) > 2
=> visits | n=COUNT(*) | show n | having (LOG(10, n) > 2)

SELECT COUNT(*) + 'a' FROM visits
=> REFUSED: type-mismatch: + … text

SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING ward < 'B'
=> REFUSED: unsupported-type: HAVING

SELECT COUNT(*) AS n, n + m AS k, 3 * n AS m FROM visits
=> REFUSED: unknown-column: 'm' … SELECT

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY 2 * n DESC, n + 0
=> visits | by ward=ward | n=COUNT(*) | computed computed=(2 * n), computed_2=(n + 0) | show ward, n | order computed desc, computed_2

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY 'x'
=> REFUSED: unknown-column: ORDER BY … "'x'"

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY age + 1
=> REFUSED: not-grouped: 'age'

SELECT COUNT(*) AS n, SUM(cost) AS s FROM visits HAVING s / n > 3 AND s / 0 > 3
=> REFUSED: division-by-zero: 's / 0' … by 0

# Habits of PostgreSQL, DuckDB, Spark and BigQuery

SELECT v.`ward`, COUNT(1) AS `n` FROM `visits` v GROUP BY v.`ward`
=> visits | by ward=ward | n=COUNT(*) | show ward, n

SELECT ward, count(*) n FROM visits GROUP BY 1 ORDER BY 2 DESC LIMIT 5 OFFSET 2
=> visits | by ward=ward | n=COUNT(*) | show ward, n | order n desc | limit 5 | offset 2

SELECT ward, COUNT(*) FROM visits GROUP BY ward OFFSET 2 ROWS FETCH NEXT 1 ROW ONLY
=> visits | by ward=ward | count=COUNT(*) | show ward, count | limit 1 | offset 2

SELECT ward, COUNT(*) FROM visits GROUP BY ward FETCH FIRST 3 ROWS WITH TIES
=> REFUSED: unsupported-sql: LIMIT … answered

SELECT SUM(cost::int), SUM(cost::numeric(10, 1)), AVG(age::float8) FROM visits
=> visits | sum=SUM(round(cost)), sum_2=SUM(round(cost, 1)), avg_age=AVG(age) | show sum, sum_2, avg_age

SELECT SUM(NVL(cost, 0)), SUM(IFNULL(age, 0)), SUM(IF(smoker, 1, 0)) FROM visits
=> visits | sum=SUM(COALESCE(cost, 0)), sum_2=SUM(COALESCE(age, 0)), sum_3=SUM(CASE WHEN smoker THEN 1 ELSE 0 END) | show sum, sum_2, sum_3

SELECT COUNTIF(smoker), APPROX_COUNT_DISTINCT(city), APPROX_QUANTILE(age, 0.5) FROM visits
=> visits | count=COUNT(CASE WHEN smoker THEN 1 ELSE NULL END), count_distinct_city=COUNT(DISTINCT city), median_age=QUANTILE(age, (1 / 2)) | show count, count_distinct_city, median_age

SELECT date_trunc('MONTH', day) AS m, COUNT(*) FROM visits GROUP BY ALL
=> visits | by m=date_trunc('month', day) | count=COUNT(*) | show m, count

SELECT EXTRACT(DOW FROM day) AS d, COUNT(*) FROM visits GROUP BY d
=> visits | by d=EXTRACT(dow FROM day) | count=COUNT(*) | show d, count

SELECT COUNT(*) FROM visits TABLESAMPLE BERNOULLI (10)
=> REFUSED: unsupported-sql: TABLESAMPLE

SELECT COUNT(*) FROM visits WHERE city ILIKE 'a%'
=> visits | where (LOWER(city) LIKE 'a%' ESCAPE '\') | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE city ~ 'a'
=> REFUSED: unsupported-sql: ~ … answered

SELECT COUNT(*) FROM visits WHERE day >= NOW() - INTERVAL '7 days'
=> REFUSED: unsupported-function: NOW

SELECT ward, COUNT(*), RANK() OVER (ORDER BY COUNT(*) DESC) FROM visits GROUP BY ward
=> REFUSED: unsupported-function: RANK

SELECT ward, ROW_NUMBER() OVER (PARTITION BY ward ORDER BY age) FROM visits
=> REFUSED: no-aggregate

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward QUALIFY n > 3
=> REFUSED: unsupported-sql: QUALIFY

SELECT ward, SUM(cost) OVER w FROM visits WINDOW w AS (PARTITION BY ward)
=> REFUSED: unsupported-sql: OVER

SELECT LAG(age) OVER (ORDER BY day) FROM visits
=> REFUSED: unsupported-function: LAG

SELECT DISTINCT ward, smoker FROM visits
=> REFUSED: no-aggregate: SELECT DISTINCT

SELECT DISTINCT ward, COUNT(*) FROM visits GROUP BY ward
=> REFUSED: no-aggregate: SELECT DISTINCT

SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM stays
=> REFUSED: unsupported-sql: UNION

SELECT COUNT(*) FROM (SELECT age FROM visits UNION SELECT nights FROM stays)
=> REFUSED: unsupported-sql: UNION

SELECT COUNT(*) FROM visits INTERSECT SELECT COUNT(*) FROM stays
=> REFUSED: unsupported-sql: INTERSECT

SELECT COUNT(*) FROM visits EXCEPT SELECT COUNT(*) FROM stays
=> REFUSED: unsupported-sql: EXCEPT

SELECT COUNT(*) FROM visits PIVOT (COUNT(*) FOR ward IN ('A'))
=> REFUSED: unsupported-function: PIVOT

SELECT COUNT(*) FROM UNNEST([1, 2])
=> REFUSED: unsupported-function: UNNEST

SELECT TRY_DIVIDE(SUM(cost), COUNT(*)) FROM visits
=> REFUSED: unsupported-function: TRY_DIVIDE

SELECT COUNT(*) FROM visits GROUP BY ward ORDER BY COUNT(*) DESC NULLS LAST
=> visits | by ward=ward | count=COUNT(*) | show count | order count desc

SELECT TOP 5 ward, COUNT(*) FROM visits GROUP BY ward
=> REFUSED: syntax-error: 12 … '5'

SELECT ward, COUNT(*) FROM visits GROUP BY ward SORT BY ward
=> REFUSED: syntax-error: 1 … 52 … 'SORT'

SELECT COUNT(*) FROM visits v LEFT SEMI JOIN stays s ON s.pid = v.patient_id
=> REFUSED: unsupported-sql: SEMI

# More corners of joins and sub-queries

SELECT COUNT(*) FROM visits v OUTER JOIN stays s ON v.patient_id = s.pid
=> REFUSED: unsupported-join: JOIN … answered

SELECT COUNT(*) FROM ((SELECT age FROM visits)) t
=> visits | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE patient_id IN ((SELECT pid FROM stays))
=> (visits LEFT JOIN (stays BY UNIT found=COUNT(*)) BY UNIT GIVES found AS stays_found) | where (NOT (stays_found IS NULL)) | count=COUNT(*) | show count

SELECT AVG(LEAST(s, 5)) FROM (SELECT patient_id, SUM(cost * cost * cost) AS s FROM visits GROUP BY patient_id)
=> REFUSED: too-fine: FROM … 9e+25 … 1/1000000

SELECT EXISTS (SELECT 1 FROM stays s WHERE s.pid = v.patient_id) AS stayed, COUNT(*) FROM visits v GROUP BY stayed
=> (visits LEFT JOIN (stays BY UNIT found=COUNT(*)) BY UNIT GIVES found AS stays_found) | by stayed=(NOT (stays_found IS NULL)) | count=COUNT(*) | show stayed, count

SELECT COUNT(*) FROM (SELECT s.pid FROM visits v LEFT JOIN stays s ON s.pid = v.patient_id)
=> REFUSED: unit-as-value: 's.pid' … LEFT JOIN

SELECT ward, SUM(cost) / COUNT(*) AS m FROM visits GROUP BY ward ORDER BY SUM(cost) / COUNT(*)
=> visits | by ward=ward | sum_cost=SUM(cost), count=COUNT(*) | computed m=(sum_cost / count) | show ward, m | order m

SELECT w.s, COUNT(*) FROM visits v LEFT JOIN (SELECT ward, size + 1 AS s FROM wards) w ON v.ward = w.ward AND v.age = w.s GROUP BY w.s
=> (visits LEFT JOIN wards ON ward = ward MOST 1 GIVES ward AS wards_ward, size) | by s=CASE WHEN ((NOT (wards_ward IS NULL)) AND (age = (size + 1))) THEN (size + 1) ELSE NULL END | count=COUNT(*) | show s, count

SELECT region, COUNT(*) FROM visits LEFT JOIN (SELECT ward, region, size + 1 AS age FROM wards) w USING (ward, age) GROUP BY region
=> (visits LEFT JOIN wards ON ward = ward MOST 1 GIVES ward AS wards_ward, size, region) | by region=CASE WHEN ((NOT (wards_ward IS NULL)) AND (age = (size + 1))) THEN region ELSE NULL END | count=COUNT(*) | show region, count

SELECT COUNT(*) FROM visits JOIN (SELECT ward, size + 1 AS age FROM wards) w USING (ward, age)
=> (visits JOIN wards ON ward = ward MOST 1 GIVES size) | where (age = (size + 1)) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits v LEFT JOIN wards w ON v.ward = w.ward WHERE v.age = w.size
=> (visits LEFT JOIN wards ON ward = ward MOST 1 GIVES size) | where (age = size) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits v LEFT JOIN stays s ON v.patient_id = s.pid WHERE v.patient_id = s.pid
=> REFUSED: unit-as-value: 'patient_id'

SELECT COUNT(*) FROM visits v LEFT JOIN wards w ON v.ward = w.ward AND v.age = v.cost
=> (visits LEFT JOIN wards ON ward = ward MOST 1) | count=COUNT(*) | show count

SELECT COUNT(*) FROM (SELECT age FROM visits) JOIN (SELECT size FROM wards) ON age = size
=> (visits JOIN wards ON age = size) | count=COUNT(*) | show count

SELECT SUM(a) FROM (SELECT age FROM visits) AS "-" (a)
=> REFUSED: unsupported-sql: FROM

WITH "-" (a) AS (SELECT age FROM visits) SELECT SUM(a) FROM "-"
=> REFUSED: unsupported-sql: WITH … '-'

SELECT COUNT(*) FROM visits v JOIN stays s USING (day)
=> REFUSED: not-per-unit: 's'

SELECT COUNT(*) FROM (SELECT * FROM visits v JOIN stays s ON v.patient_id = s.pid)
=> REFUSED: duplicate-name: 'ward'

SELECT COUNT(*) FROM (SELECT v.*, s.nights FROM visits v JOIN stays s ON v.patient_id = s.pid) WHERE nights > 3
=> (visits JOIN stays BY UNIT MOST 4 GIVES nights) | where (nights > 3) | count=COUNT(*) | show count

SELECT COUNT(*) FROM (SELECT p.* FROM visits v LEFT JOIN patients p ON v.patient_id = p.patient_id) t JOIN stays s ON t.patient_id = s.pid
=> REFUSED: unknown-column: there … 'patient_id'

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n / 2 DESC, NULLIF(n, 0)
=> visits | by ward=ward | n=COUNT(*) | computed computed=(n * (1 / 2)), computed_2=CASE WHEN (n = 0) THEN NULL ELSE n END | show ward, n | order computed desc, computed_2

SELECT AVG(a) FROM (SELECT patient_id, AVG(smoker) AS a, SUM(cost), COUNT(*) FROM visits GROUP BY patient_id)
=> (visits BY UNIT avg=AVG(CASE WHEN smoker THEN 1 WHEN (NOT smoker) THEN 0 ELSE NULL END)) | avg_avg=AVG(avg) | show avg_avg

SELECT COUNT(*) FROM (SELECT patient_id, smoker, COUNT(*) FROM visits GROUP BY ALL)
=> (visits BY UNIT smoker=smoker) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM wards JOIN prices USING (ward))
=> REFUSED: private-table-needed: tables

SELECT COUNT(*) FROM visits WHERE age > 3 AND (patient_id IN (SELECT pid FROM stays WHERE nights > 3)) = smoker
=> (visits LEFT JOIN (stays WHERE (nights > 3) BY UNIT found=COUNT(*)) BY UNIT GIVES found AS stays_found) | where ((age > 3) AND ((NOT (stays_found IS NULL)) = smoker)) | count=COUNT(*) | show count

SELECT COUNT(*) FROM (SELECT patient_id, 1 AS x FROM visits GROUP BY patient_id, x)
=> REFUSED: constant-value: GROUP BY … '1'

SELECT 3 AS x, COUNT(*) FROM visits GROUP BY ALL
=> REFUSED: constant-value: GROUP BY … '3'

SELECT COUNT(*) FROM patients LEFT JOIN (SELECT patient_id, n FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) WHERE n > 3) t USING (patient_id) WHERE n IS NULL
=> (patients LEFT JOIN (visits BY UNIT count=COUNT(*)) BY UNIT GIVES count) | where (CASE WHEN ((NOT (count IS NULL)) AND (count > 3)) THEN count ELSE NULL END IS NULL) | count=COUNT(*) | show count

SELECT SUM(n) FROM patients JOIN (SELECT * FROM (SELECT patient_id, ward, COUNT(*) AS n FROM visits GROUP BY ALL)) t USING (patient_id)
=> (patients JOIN (visits BY UNIT ward=ward, count=COUNT(*)) BY UNIT MOST 50 GIVES count) | sum_count=SUM(count) | show sum_count

SELECT SUM(a) FROM patients JOIN (SELECT patient_id, age AS a FROM visits JOIN wards USING (ward)) t USING (patient_id)
=> (patients JOIN (visits JOIN wards ON ward = ward MOST 1) BY UNIT MOST 50 GIVES age) | sum_age=SUM(age) | show sum_age

# Lines of least squares, and the time between two moments

SELECT REGR_SLOPE(cost, age) AS s FROM visits WHERE age < 30
=> visits | where (age < 30) | covar_pop_cost_age=COVAR_POP(cost, age), var_pop=VAR_POP(CASE WHEN ((cost IS NULL) OR (age IS NULL)) THEN NULL ELSE age END) | computed s=(covar_pop_cost_age / var_pop) | show s

SELECT ward, ROUND(REGR_SLOPE(cost, age), 2) AS s FROM visits GROUP BY ward HAVING REGR_SLOPE(cost, age) > 0 ORDER BY s
=> visits | by ward=ward | covar_pop_cost_age=COVAR_POP(cost, age), var_pop=VAR_POP(CASE WHEN ((cost IS NULL) OR (age IS NULL)) THEN NULL ELSE age END) | computed s=round((covar_pop_cost_age / var_pop), 2) | show ward, s | having ((covar_pop_cost_age / var_pop) > 0) | order s

SELECT REGR_INTERCEPT(cost, age) FILTER (WHERE age < 30 OR cost > 5) AS i FROM visits
=> visits | avg=AVG(CASE WHEN ((CASE WHEN ((age < 30) OR (cost > 5)) THEN cost ELSE NULL END IS NULL) OR (CASE WHEN ((age < 30) OR (cost > 5)) THEN age ELSE NULL END IS NULL)) THEN NULL ELSE CASE WHEN ((age < 30) OR (cost > 5)) THEN cost ELSE NULL END END), covar_pop=COVAR_POP(CASE WHEN ((age < 30) OR (cost > 5)) THEN cost ELSE NULL END, CASE WHEN ((age < 30) OR (cost > 5)) THEN age ELSE NULL END), var_pop=VAR_POP(CASE WHEN ((CASE WHEN ((age < 30) OR (cost > 5)) THEN cost ELSE NULL END IS NULL) OR (CASE WHEN ((age < 30) OR (cost > 5)) THEN age ELSE NULL END IS NULL)) THEN NULL ELSE CASE WHEN ((age < 30) OR (cost > 5)) THEN age ELSE NULL END END), avg_2=AVG(CASE WHEN ((CASE WHEN ((age < 30) OR (cost > 5)) THEN cost ELSE NULL END IS NULL) OR (CASE WHEN ((age < 30) OR (cost > 5)) THEN age ELSE NULL END IS NULL)) THEN NULL ELSE CASE WHEN ((age < 30) OR (cost > 5)) THEN age ELSE NULL END END) | computed i=(avg - ((covar_pop / var_pop) * avg_2)) | show i

SELECT ward, regr_r2(cost, age) AS r FROM visits GROUP BY ward
=> visits | by ward=ward | corr_cost_age=CORR(cost, age) | computed r=POWER(corr_cost_age, 2) | show ward, r

SELECT REGR_R2(cost, age, 2) FROM visits
=> REFUSED: wrong-arguments: REGR_R2 … two arguments

SELECT REGR_SLOPE(cost) FROM visits
=> REFUSED: wrong-arguments: REGR_SLOPE … two arguments

SELECT COUNT(*) FROM visits WHERE REGR_SLOPE(cost, age) > 1
=> REFUSED: misplaced-aggregate: WHERE

SELECT AVG(s) FROM (SELECT patient_id, REGR_SLOPE(cost, age) AS s FROM visits GROUP BY patient_id)
=> REFUSED: unsupported-function: COVAR_POP

SELECT COUNT(*) FROM visits WHERE arrived - TIMESTAMP '2024-01-01' > INTERVAL '1 day'
=> visits | where (arrived > TIMESTAMP '2024-01-02 00:00:00') | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE INTERVAL '2 hours' >= arrived - day
=> visits | where (arrived <= (CAST(day AS TIMESTAMP) + INTERVAL '7200000000 microseconds')) | count=COUNT(*) | show count

SELECT COUNT(*) FROM visits WHERE arrived - day > INTERVAL '1 month'
=> REFUSED: unsupported-sql: months

SELECT COUNT(*) FROM visits WHERE age - cost > INTERVAL '1 day'
=> REFUSED: type-mismatch: INTERVAL … number

# The rows of each unit in an order, chosen bounds, and conditions on groups

SELECT AVG(cost) FROM (SELECT cost, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day DESC, cost) AS rn FROM visits WHERE smoker) x WHERE rn = 1
=> (visits WHERE smoker NUMBERED rn BY UNIT ORDER day DESC, cost OF cost, day) | where (rn = 1) | avg_cost=AVG(cost) | show avg_cost

SELECT COUNT(*) FROM (SELECT s.nights, ROW_NUMBER() OVER (PARTITION BY s.ward, s.pid ORDER BY day NULLS LAST) AS k FROM stays s JOIN patients p ON p.patient_id = s.pid) WHERE k = 1
=> ((stays JOIN patients BY UNIT MOST 1) NUMBERED k BY UNIT ward ORDER day OF ward, nights, day) | where (k = 1) | count=COUNT(*) | show count

SELECT COUNT(*) FROM (SELECT ward, cost FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) = 1 AND cost > 5) x WHERE ward = 'A'
=> (visits NUMBERED row_number BY UNIT ORDER day OF cost, ward, day) | where (((row_number = 1) AND (cost > 5)) AND (ward = 'A')) | count=COUNT(*) | show count

SELECT AVG(cost) FROM (SELECT cost, age + ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) AS k FROM visits QUALIFY k <= 20) x
=> (visits NUMBERED row_number BY UNIT ORDER day OF age, cost, day) | where ((age + row_number) <= 20) | avg_cost=AVG(cost) | show avg_cost

SELECT COUNT(*) FROM (SELECT cost, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) AS f, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day DESC) AS l FROM visits) WHERE f = 1 AND l > 1
=> ((visits NUMBERED f BY UNIT ORDER day OF cost, day) NUMBERED l BY UNIT ORDER day DESC OF cost, day, f) | where ((f = 1) AND (l > 1)) | count=COUNT(*) | show count

SELECT AVG(b - a) FROM (SELECT patient_id, ARG_MIN(cost, day) AS a, MAX_BY(cost, day) AS b FROM visits WHERE smoker GROUP BY patient_id HAVING COUNT(*) >= 2) c
=> (((visits WHERE smoker NUMBERED row_number BY UNIT ORDER CASE WHEN (NOT (cost IS NULL)) THEN day ELSE NULL END OF cost, day) NUMBERED row_number_2 BY UNIT ORDER CASE WHEN (NOT (cost IS NULL)) THEN day ELSE NULL END DESC OF cost, day, row_number) BY UNIT min=MIN(CASE WHEN ((row_number = 1) AND (NOT (CASE WHEN (NOT (cost IS NULL)) THEN day ELSE NULL END IS NULL))) THEN cost ELSE NULL END), min_2=MIN(CASE WHEN ((row_number_2 = 1) AND (NOT (CASE WHEN (NOT (cost IS NULL)) THEN day ELSE NULL END IS NULL))) THEN cost ELSE NULL END), count=COUNT(*)) | where (count >= 2) | avg=AVG((min_2 - min)) | show avg

SELECT w, COUNT(*) FROM (SELECT patient_id, FIRST(ward ORDER BY day) AS w FROM visits GROUP BY patient_id) c GROUP BY w
=> ((visits NUMBERED row_number BY UNIT ORDER day OF ward, day) BY UNIT min=MIN(CASE WHEN (row_number = 1) THEN ward ELSE NULL END)) | by w=min | count=COUNT(*) | show w, count

SELECT COUNT(*) FROM (SELECT patient_id, ward, LAST(cost ORDER BY day, age DESC) FILTER (WHERE smoker) AS c FROM visits GROUP BY patient_id, ward) WHERE c > 9
=> ((visits NUMBERED row_number BY UNIT ward ORDER CASE WHEN smoker THEN 1 ELSE NULL END, day DESC, age OF age, cost, ward, day, smoker) BY UNIT ward=ward, min=MIN(CASE WHEN ((row_number = 1) AND smoker) THEN cost ELSE NULL END)) | where (min > 9) | count=COUNT(*) | show count

SELECT COUNT(*) FROM (SELECT patient_id, ARG_MIN(smoker, day) FILTER (WHERE age > 9) AS s FROM visits GROUP BY patient_id) WHERE s
=> ((visits NUMBERED row_number BY UNIT ORDER CASE WHEN ((age > 9) AND (NOT (smoker IS NULL))) THEN day ELSE NULL END OF age, day, smoker) BY UNIT min=MIN(CASE WHEN ((row_number = 1) AND (NOT (CASE WHEN ((age > 9) AND (NOT (smoker IS NULL))) THEN day ELSE NULL END IS NULL))) THEN smoker ELSE NULL END)) | where min | count=COUNT(*) | show count

WITH n AS (SELECT patient_id, day, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day, cost) AS k FROM visits) SELECT AVG(b.day - a.day) AS gap FROM n a JOIN n b ON b.patient_id = a.patient_id WHERE a.k = 1 AND b.k = 2
=> ((visits NUMBERED k BY UNIT ORDER day, cost OF cost, day) JOIN (visits NUMBERED k BY UNIT ORDER day, cost ONLY 2 TO 2 OF cost, day) BY UNIT MOST 1 GIVES day AS visits_day, k AS visits_k) | where ((k = 1) AND (visits_k = 2)) | gap=AVG((visits_day - day)) | show gap

WITH n AS (SELECT patient_id, day, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) AS k FROM visits) SELECT COUNT(b.day) AS again FROM n a LEFT JOIN n b ON b.patient_id = a.patient_id AND b.k BETWEEN 2 AND 3 AND b.day > DATE '2024-01-01' WHERE a.k = 1
=> REFUSED: unsupported-join

WITH n AS (SELECT patient_id, day, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) AS k FROM visits) SELECT COUNT(b.day) AS again FROM n a LEFT JOIN n b ON b.patient_id = a.patient_id AND b.k = 2 AND b.day > DATE '2024-01-01' WHERE a.k = 1
=> ((visits NUMBERED k BY UNIT ORDER day OF day) LEFT JOIN (visits NUMBERED k BY UNIT ORDER day ONLY 2 TO 2 OF day) BY UNIT MOST 1 GIVES day AS visits_day, k AS visits_k) | where (k = 1) | again=COUNT(CASE WHEN ((NOT (visits_k IS NULL)) AND (visits_k = 2) AND (visits_day > DATE '2024-01-01')) THEN visits_day ELSE NULL END) | show again

WITH n AS (SELECT patient_id, day, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) AS k FROM visits) SELECT COUNT(*) AS pairs FROM n a JOIN n b ON b.patient_id = a.patient_id WHERE b.k = a.k + 1
=> ((visits NUMBERED k BY UNIT ORDER day OF day) JOIN (visits NUMBERED k BY UNIT ORDER day OF day) BY UNIT MOST 50 GIVES k AS visits_k) | where (visits_k = (k + 1)) | pairs=COUNT(*) | show pairs

SELECT COUNT(*) FROM visits JOIN (SELECT patient_id, ROW_NUMBER() OVER (PARTITION BY patient_id, ward ORDER BY day) AS k FROM visits) n USING (patient_id) WHERE n.k = 1
=> (visits JOIN (visits NUMBERED k BY UNIT ward ORDER day ONLY 1 TO 1 OF ward, day) BY UNIT MOST 50 GIVES k) | where (k = 1) | count=COUNT(*) | show count

SELECT COUNT(*) FROM patients WHERE patient_id IN (SELECT patient_id FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) = 1 AND cost > 100)
=> (patients LEFT JOIN ((visits NUMBERED row_number BY UNIT ORDER day OF cost, day) WHERE ((row_number = 1) AND (cost > 100)) BY UNIT found=COUNT(*)) BY UNIT GIVES found AS visits_found) | where (NOT (visits_found IS NULL)) | count=COUNT(*) | show count

SELECT AVG(d) FROM (SELECT patient_id, MAX(day) - MIN(day) AS d FROM visits GROUP BY patient_id)
=> (visits BY UNIT max_day=MAX(day), min_day=MIN(day)) | avg=AVG((max_day - min_day)) | show avg

SELECT AVG(rn) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) AS rn FROM visits) x
=> (visits NUMBERED rn BY UNIT ORDER day OF day) | avg_rn=AVG(rn) | show avg_rn

SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (ORDER BY day) AS rn FROM visits) x WHERE rn = 1
=> REFUSED: not-per-unit

SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY ward ORDER BY day) AS rn FROM visits) x WHERE rn = 1
=> REFUSED: not-per-unit

SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY patient_id) AS rn FROM visits) x WHERE rn = 1
=> REFUSED: missing-order

SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day NULLS FIRST) AS rn FROM visits) x WHERE rn = 1
=> REFUSED: unsupported-sql

SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY x ORDER BY X) AS rn FROM "Odd Name") x WHERE rn = 1
=> REFUSED: rows-are-units

SELECT COUNT(*) FROM (SELECT RANK() OVER (PARTITION BY patient_id ORDER BY day) AS rn FROM visits) x WHERE rn = 1
=> REFUSED: unsupported-function

SELECT COUNT(*) FROM (SELECT SUM(cost) OVER (PARTITION BY patient_id ORDER BY day) AS s FROM visits) x WHERE s > 1
=> REFUSED: not-per-unit

SELECT COUNT(*) FROM visits WHERE ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) = 1
=> REFUSED: unsupported-function

SELECT COUNT(*) FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) = 1
=> REFUSED: unsupported-sql

SELECT COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id QUALIFY ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY n) = 1) WHERE n > 3
=> REFUSED: unsupported-sql

SELECT COUNT(*) FROM (SELECT cost FROM visits QUALIFY cost) x
=> REFUSED: not-a-condition

SELECT ARG_MIN(cost, day) FROM visits
=> REFUSED: unsupported-function

SELECT COUNT(*) FROM (SELECT patient_id, ARG_MAX(cost) AS f FROM visits GROUP BY patient_id) WHERE f > 3
=> REFUSED: wrong-arguments

SELECT COUNT(*) FROM (SELECT patient_id, FIRST(cost) AS f FROM visits GROUP BY patient_id) WHERE f > 3
=> REFUSED: missing-order

SELECT WIDTH_BUCKET(age, [18, 45, 65]) AS b, COUNT(*) FROM visits GROUP BY b
=> visits | by b=CASE WHEN (age >= 65) THEN 3 WHEN (age >= 45) THEN 2 WHEN (age >= 18) THEN 1 WHEN (age < 18) THEN 0 ELSE NULL END | count=COUNT(*) | show b, count

SELECT WIDTH_BUCKET(age, [65, 45]) AS b, COUNT(*) FROM visits GROUP BY b
=> REFUSED: constant-needed

SELECT WIDTH_BUCKET(age, 5) AS b, COUNT(*) FROM visits GROUP BY b
=> REFUSED: wrong-arguments

SELECT ward, n FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) WHERE n > 100
=> visits | by ward=ward | n=COUNT(*) | show ward, n | having (n > 100)

SELECT * FROM (SELECT ward AS w, COUNT(*) AS n, AVG(cost) AS c FROM visits WHERE smoker GROUP BY 1 HAVING n > 5) AS t WHERE t.n > 100 AND t.w <> 'A' ORDER BY c DESC LIMIT 3
=> visits | where smoker | by w=ward | n=COUNT(*), c=AVG(cost) | show w, n, c | having ((n > 5) AND ((n > 100) AND (w <> 'A'))) | order c desc | limit 3

WITH g AS (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) SELECT ward, n / 10 AS tens FROM g WHERE g.n > 100 ORDER BY n
=> visits | by ward=ward | count=COUNT(*) | computed tens=(count * (1 / 10)) | show ward, tens | having (count > 100) | order count

WITH g AS (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward), h AS (SELECT * FROM g WHERE n > 5) SELECT ward FROM h x WHERE x.n < 100
=> visits | by ward=ward | count=COUNT(*) | show ward | having ((count > 5) AND (count < 100))

WITH old AS (SELECT * FROM visits WHERE age > 60), g AS (SELECT ward, COUNT(*) AS n FROM old GROUP BY ALL) SELECT ward, n AS many FROM g WHERE n > 5 ORDER BY many
=> visits | where (age > 60) | by ward=ward | many=COUNT(*) | show ward, many | having (many > 5) | order many

SELECT m, n FROM (SELECT date_trunc('month', day) AS m, COUNT(*) AS n FROM visits GROUP BY m ORDER BY n DESC LIMIT 3)
=> visits | by m=date_trunc('month', day) | n=COUNT(*) | show m, n | order n desc | limit 3

SELECT n FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n LIMIT 3) WHERE n > 3
=> REFUSED: unsupported-sql

SELECT a / 2 FROM (SELECT COUNT(*) AS a FROM visits) WHERE a > 3
=> visits | count=COUNT(*) | computed computed=(count * (1 / 2)) | show computed | having (count > 3)

SELECT ward, x FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) WHERE n > 100
=> REFUSED: unknown-column

SELECT n FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t WHERE u.n > 100
=> REFUSED: unknown-table

SELECT COUNT(*) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) WHERE n > 100
=> REFUSED: not-per-unit

SELECT patient_id, n FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) WHERE n > 100
=> REFUSED: no-aggregate

SELECT ward, COUNT(*) FROM (SELECT ward FROM visits)
=> REFUSED: not-grouped
