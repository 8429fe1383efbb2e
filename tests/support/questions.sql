-- hospital | How many patients are there?
SELECT COUNT(*) AS patients FROM patients;

-- hospital | Women and men by age group
SELECT sex, FLOOR(age / 10) * 10 AS decade, COUNT(*) AS n FROM patients GROUP BY sex, decade ORDER BY sex, decade;

-- hospital | Mean age and BMI of smokers and others
SELECT smoker, AVG(age) AS age, AVG(bmi) AS bmi FROM patients WHERE smoker IS NOT NULL GROUP BY smoker;

-- hospital | Median and 90th percentile of BMI by sex
SELECT sex, MEDIAN(bmi) AS middle, PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY bmi) AS high FROM patients GROUP BY sex;

-- hospital | Is BMI related to age?
SELECT CORR(age, bmi) AS r FROM patients;

-- hospital | Share of smokers by region
SELECT region, AVG(CASE WHEN smoker THEN 1 ELSE 0 END) AS share FROM patients GROUP BY region;

-- hospital | Share of smokers, as a quotient
SELECT region, COUNT(*) FILTER (WHERE smoker) / COUNT(*) AS share FROM patients GROUP BY region;

-- hospital | Patients who are overweight, by sex and region, with totals
SELECT sex, region, COUNT(*) AS n FROM patients WHERE bmi >= 25 GROUP BY ROLLUP (sex, region);

-- hospital | All sub-totals of sex and smoking
SELECT sex, smoker, COUNT(*) AS n FROM patients GROUP BY CUBE (sex, smoker);

-- hospital | Two marginal tables at once
SELECT sex, region, COUNT(*) AS n FROM patients GROUP BY GROUPING SETS ((sex), (region));

-- hospital | Visits and cost by ward
SELECT ward, COUNT(*) AS visits, SUM(cost) AS cost, AVG(cost) AS mean FROM visits GROUP BY ward ORDER BY cost DESC;

-- hospital | People, not visits, by ward
SELECT ward, COUNT(DISTINCT patient_id) AS patients FROM visits GROUP BY ward;

-- hospital | Visits by month
SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY month ORDER BY month;

-- hospital | Visits by ISO week of 2024
SELECT EXTRACT(week FROM day) AS week, COUNT(*) AS n FROM visits WHERE EXTRACT(year FROM day) = 2024 GROUP BY week;

-- hospital | Emergencies by weekday and hour
SELECT EXTRACT(isodow FROM arrived) AS weekday, EXTRACT(hour FROM arrived) AS hour, COUNT(*) AS n FROM visits
WHERE emergency GROUP BY weekday, hour;

-- hospital | Arrivals by local hour in Berlin
SELECT EXTRACT(hour FROM arrived AT TIME ZONE 'Europe/Berlin') AS hour, COUNT(*) AS n FROM visits GROUP BY hour;

-- hospital | The three busiest wards
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 3;

-- hospital | Wards with more than 100 visits
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 100;

-- hospital | Share of emergencies among visits of the elderly
SELECT AVG(CASE WHEN v.emergency THEN 1 ELSE 0 END) AS share FROM visits v JOIN patients p ON v.patient_id = p.patient_id
WHERE p.age >= 80;

-- hospital | Cost by sex of the patient
SELECT p.sex, SUM(v.cost) AS cost FROM visits v JOIN patients p USING (patient_id) GROUP BY p.sex;

-- hospital | Visits by building of the ward
SELECT w.building, COUNT(*) AS n FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY w.building;

-- hospital | Nights per bed by ward
SELECT ward, SUM(nights) AS nights FROM visits GROUP BY ward;

-- hospital | Nights in wards with more than 25 beds
SELECT SUM(v.nights) AS nights FROM visits v LEFT JOIN wards w ON v.ward = w.ward WHERE w.beds > 25;

-- hospital | Mean total cost of a patient
SELECT AVG(total) AS mean FROM (SELECT patient_id, LEAST(SUM(cost), 20000) AS total FROM visits GROUP BY patient_id) t;

-- hospital | The same with a common table expression
WITH totals AS (SELECT patient_id, LEAST(SUM(cost), 20000) AS total FROM visits GROUP BY patient_id)
SELECT AVG(total) AS mean, MEDIAN(total) AS middle FROM totals;

-- hospital | How many visits do people have?
WITH counts AS (SELECT patient_id, COUNT(*) AS visits FROM visits GROUP BY patient_id)
SELECT LEAST(visits, 10) AS visits, COUNT(*) AS people FROM counts GROUP BY 1 ORDER BY 1;

-- hospital | Mean total cost by region of the patient
WITH totals AS (SELECT patient_id, LEAST(SUM(cost), 20000) AS total FROM visits GROUP BY patient_id)
SELECT p.region, AVG(t.total) AS mean FROM totals t JOIN patients p ON t.patient_id = p.patient_id GROUP BY p.region;

-- hospital | Frequent visitors
SELECT COUNT(*) AS people FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING COUNT(*) >= 6) t;

-- hospital | Patients with diabetes, by sex
SELECT sex, COUNT(*) AS n FROM patients
WHERE patient_id IN (SELECT patient_id FROM diagnoses WHERE code LIKE 'E11%') GROUP BY sex;

-- hospital | Patients without any diagnosis
SELECT COUNT(*) AS n FROM patients WHERE patient_id NOT IN (SELECT patient_id FROM diagnoses);

-- hospital | Risk factor: diabetes among smokers and others
SELECT p.smoker, AVG(CASE WHEN d.n IS NULL THEN 0 ELSE 1 END) AS share FROM patients p
LEFT JOIN (SELECT patient_id, COUNT(*) AS n FROM diagnoses WHERE code LIKE 'E11%' GROUP BY patient_id) d
ON p.patient_id = d.patient_id GROUP BY p.smoker;

-- hospital | Risk factor: BMI classes and infarction
SELECT CASE WHEN bmi < 25 THEN 'normal' WHEN bmi < 30 THEN 'over' ELSE 'obese' END AS class, COUNT(*) AS n,
  SUM(CASE WHEN EXISTS (SELECT 1 FROM diagnoses d WHERE d.patient_id = p.patient_id AND d.code = 'I21.0') THEN 1 ELSE 0 END) AS infarctions
FROM patients p GROUP BY class;

-- hospital | Diagnoses by chapter of their code
SELECT LEFT(code, 1) AS chapter, COUNT(*) AS n FROM diagnoses GROUP BY chapter;

-- hospital | Two diagnoses together: diabetes and high blood pressure
SELECT COUNT(*) AS n FROM patients
WHERE patient_id IN (SELECT patient_id FROM diagnoses WHERE code LIKE 'E11%')
AND patient_id IN (SELECT patient_id FROM diagnoses WHERE code = 'I10');

-- hospital | Highest glucose of each patient, then its distribution
SELECT ROUND(top / 20) * 20 AS level, COUNT(*) AS people
FROM (SELECT patient_id, MAX(value) AS top FROM labs WHERE test = 'glucose' GROUP BY patient_id) t GROUP BY level;

-- hospital | Mean of each patient's mean LDL
SELECT AVG(mean) AS ldl FROM (SELECT patient_id, AVG(value) AS mean FROM labs WHERE test = 'ldl' GROUP BY patient_id) t;

-- hospital | Glucose and LDL of the same person
SELECT CORR(g.glucose, l.ldl) AS r
FROM (SELECT patient_id, AVG(value) AS glucose FROM labs WHERE test = 'glucose' GROUP BY patient_id) g
JOIN (SELECT patient_id, AVG(value) AS ldl FROM labs WHERE test = 'ldl' GROUP BY patient_id) l ON g.patient_id = l.patient_id;

-- hospital | Spread of costs by ward
SELECT ward, STDDEV(cost) AS spread, MIN(cost) AS low, MAX(cost) AS high FROM visits GROUP BY ward;

-- hospital | Long stays by quarter
SELECT DATE_TRUNC('quarter', day) AS quarter, COUNT(*) AS n FROM visits WHERE nights BETWEEN 7 AND 30 GROUP BY 1 ORDER BY 1;

-- hospital | Notes that mention a fall
SELECT COUNT(*) AS n FROM visits WHERE LOWER(note) LIKE '%fall%';

-- hospital | Which notes are common? {"delta": "1e-6"}
SELECT note, COUNT(*) AS n FROM visits GROUP BY note;

-- hospital | Weighted mean age {"weight": "weight"}
SELECT region, AVG(age) AS age, COUNT(*) AS people FROM patients GROUP BY region;

-- hospital | How different are costs of emergencies?
SELECT emergency, QUANTILE(cost, [0.25, 0.5, 0.75]) AS cost FROM visits GROUP BY emergency;

-- hospital | Where do patients come first?
SELECT ward, COUNT(*) AS patients FROM (SELECT ward, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day, cost) AS k FROM visits) t
WHERE k = 1 GROUP BY ward;

-- hospital | How much dearer is the last visit than the first, for those who came back?
SELECT AVG(last - first) AS dearer FROM (SELECT patient_id, ARG_MIN(cost, day) AS first, ARG_MAX(cost, day) AS last FROM visits
GROUP BY patient_id HAVING COUNT(*) >= 2) t;

-- hospital | Days between the first and the second visit
WITH n AS (SELECT patient_id, day, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) AS k FROM visits)
SELECT AVG(b.day - a.day) AS days FROM n a JOIN n b ON b.patient_id = a.patient_id WHERE a.k = 1 AND b.k = 2;

-- hospital | Wards with many visits, from a grouped sub-query
SELECT ward, n FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t WHERE n > 30 ORDER BY n DESC;

-- hospital | Visits by chosen classes of cost
SELECT WIDTH_BUCKET(cost, [100, 500, 1000]) AS class, COUNT(*) AS n FROM visits GROUP BY class;

-- hospital | All visits of one patient
-- refused: unit-as-value: patient_id
SELECT COUNT(*) AS n FROM visits WHERE patient_id = 17;

-- hospital | A list of patients
-- refused: no-aggregate
SELECT * FROM patients LIMIT 10;

-- hospital | A running total
-- refused: unsupported-function: OVER
SELECT day, SUM(SUM(cost)) OVER (ORDER BY day) AS total FROM visits GROUP BY day;

-- genes | Genotypes of cases and controls
SELECT rs1, sick, COUNT(*) AS n FROM study GROUP BY rs1, sick;

-- genes | Share of the sick by genotype
SELECT rs1, AVG(CASE WHEN sick THEN 1.0 ELSE 0.0 END) AS share FROM study GROUP BY rs1;

-- genes | Frequency of an allele among cases and controls
SELECT sick, SUM(dose) / (2 * COUNT(*)) AS frequency FROM study GROUP BY sick;

-- genes | Two genes together
SELECT rs1, rs2, COUNT(*) FILTER (WHERE sick) AS cases, COUNT(*) FILTER (WHERE NOT sick) AS controls FROM study GROUP BY rs1, rs2;

-- genes | Correlation of dose and height
SELECT CORR(dose, height) AS r, COVAR_POP(dose, height) AS c FROM study;

-- genes | Height by genotype and sex
SELECT rs2, sex, AVG(height) AS height, STDDEV_SAMP(height) AS spread FROM study GROUP BY rs2, sex;

-- genes | Slope of height on dose
SELECT COVAR_POP(dose, height) / VAR_POP(dose) AS slope FROM study;

-- genes | Odds of sickness among carriers
SELECT COUNT(*) FILTER (WHERE sick AND rs1 <> 'AA') / NULLIF(COUNT(*) FILTER (WHERE NOT sick AND rs1 <> 'AA'), 0) AS odds FROM study;

-- genes | Carriers of at least one G by age
SELECT FLOOR(age / 20) AS band, COUNT(*) AS n FROM study WHERE rs1 LIKE '%G%' GROUP BY band;

-- genes | Homozygous for both
SELECT COUNT(*) AS n FROM study WHERE rs1 = rs2 AND rs1 IN ('AA', 'GG');

-- genes | Median age of onset by genotype
SELECT rs1, APPROX_QUANTILE(age, 0.5) AS age FROM study WHERE sick GROUP BY rs1;

-- genes | A regression in one call
SELECT REGR_SLOPE(height, dose) AS slope FROM study;

-- web | Views and visitors by day of 2024 and device
SELECT CAST(at AS DATE) AS day, device, COUNT(*) AS views FROM views WHERE EXTRACT(year FROM at) = 2024 GROUP BY day, device;

-- web | Visitors by country
SELECT country, COUNT(DISTINCT visitor) AS visitors FROM views GROUP BY country;

-- web | Conversion by device
SELECT device, AVG(CASE WHEN bought THEN 1 ELSE 0 END) AS rate FROM views GROUP BY device;

-- web | Most read pages
SELECT page, COUNT(*) AS views FROM views GROUP BY page ORDER BY views DESC LIMIT 5;

-- web | Time on page, mean and median
SELECT page, AVG(seconds) AS mean, MEDIAN(seconds) AS middle FROM views GROUP BY page;

-- web | Views by section of the site
SELECT p.section, COUNT(*) AS views, SUM(v.seconds) AS seconds FROM views v JOIN pages p ON v.page = p.page GROUP BY p.section;

-- web | Seconds per word read
SELECT p.section, SUM(v.seconds) / SUM(p.words) AS pace FROM views v JOIN pages p USING (page) GROUP BY p.section;

-- web | Blog readers
SELECT COUNT(DISTINCT visitor) AS readers FROM views WHERE page LIKE '/blog/%';

-- web | Pages that visitors see
SELECT AVG(pages) AS pages FROM (SELECT visitor, LEAST(COUNT(DISTINCT page), 6) AS pages FROM views GROUP BY visitor) t;

-- web | Buyers among those who read the blog
WITH readers AS (SELECT DISTINCT visitor FROM views WHERE page LIKE '/blog/%')
SELECT COUNT(*) AS buyers FROM (SELECT visitor, MAX(CASE WHEN bought THEN 1 ELSE 0 END) AS buys FROM views GROUP BY visitor) b
JOIN readers r ON b.visitor = r.visitor WHERE b.buys = 1;

-- web | Views by hour of the day
SELECT HOUR(at) AS hour, COUNT(*) AS views FROM views GROUP BY 1 ORDER BY 1;

-- web | Weekend and weekday
SELECT CASE WHEN EXTRACT(isodow FROM at) >= 6 THEN 'weekend' ELSE 'week' END AS part, COUNT(*) AS n FROM views GROUP BY part;

-- web | Common searches {"delta": "1e-6"}
SELECT LOWER(search) AS search, COUNT(*) AS n FROM views WHERE search IS NOT NULL GROUP BY 1;

-- web | Common searches, the rest in one row {"delta": "1e-6", "other": "something else"}
SELECT search, COUNT(DISTINCT visitor) AS people FROM views GROUP BY search;

-- web | Bounce: visitors with one view
SELECT AVG(CASE WHEN views = 1 THEN 1 ELSE 0 END) AS bounce FROM (SELECT visitor, COUNT(*) AS views FROM views GROUP BY visitor) t;

-- web | Views by country and device, with totals
SELECT country, device, COUNT(*) AS views FROM views GROUP BY ROLLUP (country, device);

-- web | Growth of views from 2024 to 2025
SELECT 100.0 * COUNT(*) FILTER (WHERE EXTRACT(year FROM at) = 2025) / COUNT(*) FILTER (WHERE EXTRACT(year FROM at) = 2024) - 100 AS growth FROM views;

-- web | Next page after the first
-- refused: unsupported-function: LEAD
SELECT page, LEAD(page) OVER (PARTITION BY visitor ORDER BY at) AS next FROM views;

-- outbreak | Cases by week of onset
SELECT DATE_TRUNC('week', onset) AS week, COUNT(*) AS cases FROM cases GROUP BY week ORDER BY week;

-- outbreak | Cases by district and month
SELECT district, DATE_TRUNC('month', onset) AS month, COUNT(*) AS cases FROM cases GROUP BY district, month;

-- outbreak | Share of deaths by age group
SELECT FLOOR(age / 20) * 20 AS band, AVG(CASE WHEN died THEN 1 ELSE 0 END) AS share FROM cases GROUP BY band;

-- outbreak | Delay between onset and report
SELECT AVG(reported - onset) AS days, MEDIAN(reported - onset) AS middle FROM cases WHERE reported >= onset;

-- outbreak | Delay of a report by district
SELECT district, AVG(DATE_DIFF('day', onset, reported)) AS days FROM cases GROUP BY district;

-- outbreak | Cases in towns and in the country
SELECT d.urban, COUNT(*) AS cases FROM cases c JOIN districts d ON c.district = d.district GROUP BY d.urban;

-- outbreak | Vaccination status of hospital cases
SELECT vaccinated, COUNT(*) AS n FROM cases WHERE hospital GROUP BY vaccinated;

-- outbreak | Risk of hospital by vaccination
SELECT vaccinated, COUNT(*) FILTER (WHERE hospital) / COUNT(*) AS risk FROM cases WHERE vaccinated IS NOT NULL GROUP BY vaccinated;

-- outbreak | Was the last month worse than the one before?
SELECT COUNT(*) FILTER (WHERE onset >= DATE '2025-12-01') - COUNT(*) FILTER (WHERE onset >= DATE '2025-11-01' AND onset < DATE '2025-12-01') AS more FROM cases;

-- outbreak | Cases by zone of latitude
SELECT ROUND(lat) AS zone, COUNT(*) AS n FROM cases GROUP BY zone;

-- outbreak | Mean age of deaths and of others
SELECT died, AVG(age) AS age FROM cases GROUP BY died;

-- outbreak | Districts with more than 50 cases
SELECT district, COUNT(*) AS n FROM cases GROUP BY district HAVING n > 50 ORDER BY n DESC;

-- outbreak | Seven-day moving average
-- refused: unsupported-function: OVER
SELECT onset, AVG(COUNT(*)) OVER (ORDER BY onset ROWS 6 PRECEDING) AS mean FROM cases GROUP BY onset;

-- trade | Q1: pricing summary
SELECT returnflag, linestatus, SUM(quantity) AS sum_qty, SUM(extendedprice) AS sum_base, SUM(extendedprice * (1 - discount)) AS sum_disc,
  SUM(extendedprice * (1 - discount) * (1 + tax)) AS sum_charge, AVG(quantity) AS avg_qty, AVG(discount) AS avg_disc, COUNT(*) AS n
FROM lineitem WHERE shipdate <= DATE '2025-09-02' GROUP BY returnflag, linestatus ORDER BY returnflag, linestatus;

-- trade | Q3: revenue of open orders by segment
SELECT c.mktsegment, SUM(l.extendedprice * (1 - l.discount)) AS revenue FROM lineitem l JOIN customer c ON l.custkey = c.custkey
WHERE l.shipdate > DATE '2025-03-15' GROUP BY c.mktsegment ORDER BY revenue DESC;

-- trade | Q4: orders by priority with a late item
SELECT o.orderpriority, COUNT(*) AS n FROM orders o
WHERE o.custkey IN (SELECT custkey FROM lineitem WHERE commitdate < shipdate) GROUP BY o.orderpriority;

-- trade | Q5: revenue by nation of a region
SELECT n.nation, SUM(l.extendedprice * (1 - l.discount)) AS revenue FROM lineitem l JOIN customer c ON l.custkey = c.custkey
JOIN nation n ON c.nation = n.nation WHERE n.region = 'EUROPE' GROUP BY n.nation ORDER BY revenue DESC;

-- trade | Q6: revenue that small discounts would add
SELECT SUM(extendedprice * discount) AS revenue FROM lineitem
WHERE shipdate >= DATE '2024-01-01' AND shipdate < DATE '2025-01-01' AND discount BETWEEN 0.05 AND 0.07 AND quantity < 24;

-- trade | Q12: priorities by ship mode
SELECT l.shipmode, SUM(CASE WHEN o.orderpriority IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END) AS high FROM lineitem l
JOIN orders o ON l.custkey = o.custkey AND l.orderkey = o.orderkey WHERE l.shipmode IN ('MAIL', 'SHIP') GROUP BY l.shipmode;

-- trade | Q13: how many orders do customers have?
SELECT LEAST(n, 15) AS orders, COUNT(*) AS customers FROM (SELECT custkey, COUNT(*) AS n FROM orders GROUP BY custkey) t GROUP BY 1 ORDER BY 1;

-- trade | Q14: share of promotion revenue
SELECT 100.0 * SUM(CASE WHEN p.type LIKE 'PROMO%' THEN l.extendedprice * (1 - l.discount) ELSE 0 END) / SUM(l.extendedprice * (1 - l.discount)) AS promo
FROM lineitem l JOIN part p ON l.partkey = p.partkey;

-- trade | Q18: customers with large orders in all
SELECT COUNT(*) AS customers FROM (SELECT custkey, SUM(quantity) AS q FROM lineitem GROUP BY custkey HAVING SUM(quantity) > 300) t;

-- trade | Q19: revenue of some brands and sizes
SELECT SUM(l.extendedprice * (1 - l.discount)) AS revenue FROM lineitem l JOIN part p ON p.partkey = l.partkey
WHERE (p.brand = 'Brand#1' AND l.quantity BETWEEN 1 AND 11 AND p.size <= 5) OR (p.brand = 'Brand#2' AND l.quantity BETWEEN 10 AND 20);

-- trade | Q22: customers without orders and their balance
SELECT nation, COUNT(*) AS customers, SUM(acctbal) AS balance FROM customer
WHERE acctbal > 0 AND custkey NOT IN (SELECT custkey FROM orders) GROUP BY nation;

-- trade | Q17: revenue lost with small orders of a part
-- refused: misplaced-subquery
SELECT SUM(l.extendedprice) / 7.0 AS lost FROM lineitem l WHERE l.quantity < (SELECT 0.2 * AVG(quantity) FROM lineitem);

-- trade | Q10: the customers who returned most
-- refused: unit-as-value: custkey
SELECT custkey, SUM(extendedprice) AS lost FROM lineitem WHERE returnflag = 'R' GROUP BY custkey ORDER BY lost DESC LIMIT 20;
