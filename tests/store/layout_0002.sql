BEGIN TRANSACTION;
CREATE TABLE episodes (
	run_id TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	trajectory_id TEXT NOT NULL, 
	created TEXT NOT NULL, 
	PRIMARY KEY (run_id, "key"), 
	FOREIGN KEY(run_id) REFERENCES runs (run_id) ON DELETE CASCADE, 
	UNIQUE (trajectory_id), 
	FOREIGN KEY(trajectory_id) REFERENCES trajectories (id)
);
INSERT INTO "episodes" VALUES('run-1','s0f0/training/t0','tra-0','2026-11-23T20:41:59.804+00:00');
INSERT INTO "episodes" VALUES('run-1','s0f0/training/t1','tra-1','2026-11-23T20:41:59.805+00:00');
INSERT INTO "episodes" VALUES('run-1','s0f0/training/t2','tra-2','2026-11-23T20:41:59.805+00:00');
INSERT INTO "episodes" VALUES('run-1','s0f0/training/t3','tra-3','2026-11-23T20:41:59.806+00:00');
CREATE TABLE journal (
	scope TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	created TEXT NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (scope, "key")
);
INSERT INTO "journal" VALUES('run-1/s0f0/erl/judged','tra-0','2026-11-23T20:41:59.810+00:00','{"text":"tra-0","parsed":false,"odds":{},"finish_reason":"stop","model":"","usage":{"prompt_tokens":0,"cached_tokens":0,"completion_tokens":0,"calls":0,"replayed":0,"cost":0.0,"seconds":0.0}}');
INSERT INTO "journal" VALUES('run-1/s0f0/erl/judged','tra-1','2026-11-23T20:41:59.811+00:00','{"text":"tra-1","parsed":true,"odds":{},"finish_reason":"stop","model":"","usage":{"prompt_tokens":0,"cached_tokens":0,"completion_tokens":0,"calls":0,"replayed":0,"cost":0.0,"seconds":0.0}}');
INSERT INTO "journal" VALUES('run-1/s0f0/erl/learned','done','2026-11-23T20:41:59.812+00:00','{"text":"learned","parsed":{"from":["tra-0","tra-1","tra-2"],"problems":["a reply was no heuristic"]},"odds":{},"finish_reason":"stop","model":"","usage":{"prompt_tokens":0,"cached_tokens":0,"completion_tokens":0,"calls":0,"replayed":0,"cost":0.0,"seconds":0.0}}');
INSERT INTO "journal" VALUES('run-1/s0f0/expnote/learned','done','2026-11-23T20:41:59.812+00:00','{"text":"learned","parsed":null,"odds":{},"finish_reason":"stop","model":"","usage":{"prompt_tokens":0,"cached_tokens":0,"completion_tokens":0,"calls":0,"replayed":0,"cost":0.0,"seconds":0.0}}');
INSERT INTO "journal" VALUES('run-1/s0f0/training/replaced','done','2026-11-23T20:41:59.814+00:00','{"text":"replaced","parsed":["tra-2"],"odds":{},"finish_reason":"stop","model":"","usage":{"prompt_tokens":0,"cached_tokens":0,"completion_tokens":0,"calls":0,"replayed":0,"cost":0.0,"seconds":0.0}}');
INSERT INTO "journal" VALUES('run-1/s0f0/erl/learn','0000000000000000000000000000000000000000000000000000000000000000','2026-11-23T20:41:59.814+00:00','{"text":"{\"trigger\": \"a name is unknown\"}","parsed":null,"odds":{},"finish_reason":"stop","model":"m","usage":{"prompt_tokens":3,"cached_tokens":0,"completion_tokens":2,"calls":1,"replayed":0,"cost":0.0,"seconds":0.0}}');
INSERT INTO "journal" VALUES('run-1/s0f0/erl/learned','1111111111111111111111111111111111111111111111111111111111111111','2026-11-23T20:41:59.815+00:00','{"text":"learned, said a model","parsed":null,"odds":{},"finish_reason":"stop","model":"m","usage":{"prompt_tokens":1,"cached_tokens":0,"completion_tokens":0,"calls":1,"replayed":0,"cost":0.0,"seconds":0.0}}');
CREATE TABLE learned (
	trajectory_id TEXT NOT NULL, 
	method TEXT NOT NULL, 
	at TEXT NOT NULL, 
	PRIMARY KEY (trajectory_id, method), 
	FOREIGN KEY(trajectory_id) REFERENCES trajectories (id) ON DELETE CASCADE
);
INSERT INTO "learned" VALUES('tra-0','erl','2026-11-23T20:41:59.817+00:00');
CREATE TABLE leases (
	name TEXT NOT NULL, 
	holder TEXT NOT NULL, 
	until FLOAT NOT NULL, 
	PRIMARY KEY (name)
);
CREATE TABLE lesson_history (
	lesson_id TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	at TEXT NOT NULL, 
	who TEXT NOT NULL, 
	why TEXT NOT NULL, 
	body TEXT NOT NULL, change INTEGER DEFAULT '0' NOT NULL, 
	PRIMARY KEY (lesson_id, version), 
	FOREIGN KEY(lesson_id) REFERENCES lessons (id) ON DELETE CASCADE
);
INSERT INTO "lesson_history" VALUES('les-1',1,'2026-11-23T20:41:59.806+00:00','model','seen','{"id":"les-1","kind":"heuristic","text":"IF a name is unknown THEN look it up first.","key":"a name is unknown","category":"","importance":1.0,"status":"active","pinned":false,"origin":"model","method":"erl","sources":["tra-0"],"data":{},"version":1,"created":"2026-11-23T20:41:59.806+00:00","updated":"2026-11-23T20:41:59.806+00:00"}',1);
INSERT INTO "lesson_history" VALUES('les-1',2,'2026-11-23T20:41:59.808+00:00','person','better','{"id":"les-1","kind":"heuristic","text":"IF a name is unknown THEN look it up twice.","key":"a name is unknown","category":"","importance":1.0,"status":"active","pinned":false,"origin":"model","method":"erl","sources":["tra-0"],"data":{},"version":2,"created":"2026-11-23T20:41:59.806+00:00","updated":"2026-11-23T20:41:59.808+00:00"}',2);
CREATE TABLE lesson_sources (
	lesson_id TEXT NOT NULL, 
	trajectory_id TEXT NOT NULL, 
	PRIMARY KEY (lesson_id, trajectory_id), 
	FOREIGN KEY(lesson_id) REFERENCES lessons (id) ON DELETE CASCADE
);
INSERT INTO "lesson_sources" VALUES('les-1','tra-0');
CREATE TABLE lesson_uses (
	lesson_id TEXT NOT NULL, 
	trajectory_id TEXT NOT NULL, 
	PRIMARY KEY (lesson_id, trajectory_id), 
	FOREIGN KEY(trajectory_id) REFERENCES trajectories (id) ON DELETE CASCADE
);
INSERT INTO "lesson_uses" VALUES('les-1','tra-3');
CREATE TABLE lessons (
	seq INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	change INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	category TEXT NOT NULL, 
	status TEXT NOT NULL, 
	importance FLOAT NOT NULL, 
	pinned BOOLEAN NOT NULL, 
	origin TEXT NOT NULL, 
	method TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	created TEXT NOT NULL, 
	updated TEXT NOT NULL, 
	folded TEXT NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (seq), 
	UNIQUE (id)
);
INSERT INTO "lessons" VALUES(1,'les-1','run-1/s0f0/erl',2,'heuristic','a name is unknown','','active',1.0,0,'model','erl',2,'2026-11-23T20:41:59.806+00:00','2026-11-23T20:41:59.808+00:00','a name is unknown
if a name is unknown then look it up twice.','{"id":"les-1","kind":"heuristic","text":"IF a name is unknown THEN look it up twice.","key":"a name is unknown","category":"","importance":1.0,"status":"active","pinned":false,"origin":"model","method":"erl","sources":["tra-0"],"data":{},"version":2,"created":"2026-11-23T20:41:59.806+00:00","updated":"2026-11-23T20:41:59.808+00:00"}');
CREATE TABLE runs (
	run_id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	path TEXT NOT NULL, 
	status TEXT NOT NULL, 
	created TEXT NOT NULL, 
	finished TEXT, 
	config TEXT NOT NULL, 
	summary TEXT, 
	PRIMARY KEY (run_id)
);
INSERT INTO "runs" VALUES('run-1','emoji','runs/run-1','running','2026-11-23T20:41:59.799+00:00',NULL,'{"seeds": [0]}',NULL);
CREATE TABLE scopes (
	scope TEXT NOT NULL, 
	change INTEGER NOT NULL, 
	purges INTEGER NOT NULL, 
	PRIMARY KEY (scope)
);
INSERT INTO "scopes" VALUES('run-1/s0f0/training',4,0);
INSERT INTO "scopes" VALUES('run-1/s0f0/erl',3,0);
CREATE TABLE seasoned_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT seasoned_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "seasoned_version" VALUES('0002');
CREATE TABLE snapshots (
	scope TEXT NOT NULL, 
	name TEXT NOT NULL, 
	change INTEGER NOT NULL, 
	at TEXT NOT NULL, 
	who TEXT NOT NULL, 
	why TEXT NOT NULL, 
	PRIMARY KEY (scope, name)
);
INSERT INTO "snapshots" VALUES('run-1/s0f0/erl','before',3,'2026-11-23T20:41:59.815+00:00','person','');
CREATE TABLE trajectories (
	seq INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	run_id TEXT NOT NULL, 
	task_id TEXT NOT NULL, 
	benchmark TEXT NOT NULL, 
	category TEXT NOT NULL, 
	agent TEXT NOT NULL, 
	success BOOLEAN, 
	reason TEXT NOT NULL, 
	created TEXT NOT NULL, 
	task TEXT NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (seq), 
	UNIQUE (id)
);
INSERT INTO "trajectories" VALUES(1,'tra-0','run-1/s0f0/training','run-1','t0','','','',0,'unfinished','2026-11-23T20:41:59.801+00:00','task 0','{"id":"tra-0","task_id":"t0","task":"task 0","category":"","benchmark":"","agent":"","steps":[],"outcome":{"success":false,"reward":null,"reason":"unfinished","answer":"","detail":""},"guidance":"","lesson_ids":[],"demonstration_ids":[],"messages":[],"usage":{"prompt_tokens":0,"cached_tokens":0,"completion_tokens":0,"calls":0,"replayed":0,"cost":0.0,"seconds":0.0},"meta":{},"created":"2026-11-23T20:41:59.801+00:00"}');
INSERT INTO "trajectories" VALUES(2,'tra-1','run-1/s0f0/training','run-1','t1','','','',1,'unfinished','2026-11-23T20:41:59.801+00:00','task 1','{"id":"tra-1","task_id":"t1","task":"task 1","category":"","benchmark":"","agent":"","steps":[],"outcome":{"success":true,"reward":null,"reason":"unfinished","answer":"","detail":""},"guidance":"","lesson_ids":[],"demonstration_ids":[],"messages":[],"usage":{"prompt_tokens":0,"cached_tokens":0,"completion_tokens":0,"calls":0,"replayed":0,"cost":0.0,"seconds":0.0},"meta":{},"created":"2026-11-23T20:41:59.801+00:00"}');
INSERT INTO "trajectories" VALUES(3,'tra-2','run-1/s0f0/training','run-1','t2','','','',0,'unfinished','2026-11-23T20:41:59.801+00:00','task 2','{"id":"tra-2","task_id":"t2","task":"task 2","category":"","benchmark":"","agent":"","steps":[],"outcome":{"success":false,"reward":null,"reason":"unfinished","answer":"","detail":""},"guidance":"","lesson_ids":[],"demonstration_ids":[],"messages":[],"usage":{"prompt_tokens":0,"cached_tokens":0,"completion_tokens":0,"calls":0,"replayed":0,"cost":0.0,"seconds":0.0},"meta":{},"created":"2026-11-23T20:41:59.801+00:00"}');
INSERT INTO "trajectories" VALUES(4,'tra-3','run-1/s0f0/training','run-1','t3','','','',1,'unfinished','2026-11-23T20:41:59.801+00:00','task 3','{"id":"tra-3","task_id":"t3","task":"task 3","category":"","benchmark":"","agent":"","steps":[],"outcome":{"success":true,"reward":null,"reason":"unfinished","answer":"","detail":""},"guidance":"","lesson_ids":["les-1"],"demonstration_ids":[],"messages":[],"usage":{"prompt_tokens":0,"cached_tokens":0,"completion_tokens":0,"calls":0,"replayed":0,"cost":0.0,"seconds":0.0},"meta":{},"created":"2026-11-23T20:41:59.801+00:00"}');
CREATE TABLE vectors (
	owner TEXT NOT NULL, 
	id TEXT NOT NULL, 
	embedder TEXT NOT NULL, 
	dim INTEGER NOT NULL, 
	digest TEXT NOT NULL, 
	data BLOB NOT NULL, 
	PRIMARY KEY (owner, id, embedder)
);
INSERT INTO "vectors" VALUES('lesson','les-1','e',2,'',X'0000803F0000803F');
CREATE INDEX runs_by_created ON runs (created, run_id);
CREATE INDEX trajectories_by_scope ON trajectories (scope, success, seq);
CREATE INDEX trajectories_by_task ON trajectories (scope, task_id, seq);
CREATE INDEX trajectories_by_run ON trajectories (run_id, seq);
CREATE INDEX lessons_by_scope ON lessons (scope, seq, status, kind);
CREATE INDEX lessons_by_seq ON lessons (seq, status, kind);
CREATE INDEX lessons_by_key ON lessons ("key", scope, seq);
CREATE INDEX lessons_by_change ON lessons (scope, change);
CREATE INDEX lesson_sources_by_trajectory ON lesson_sources (trajectory_id);
CREATE INDEX lesson_uses_by_trajectory ON lesson_uses (trajectory_id);
COMMIT;
