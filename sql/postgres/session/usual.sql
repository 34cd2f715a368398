-- What the settings of a server, a database or a role say is not to keep a program from what it
-- was asked to do, nor end it half-way, nor have its statements mean something else.
SELECT set_config(c.name, c.boot_val, false) FROM changed c
 WHERE c.setting <> c.boot_val AND c.source NOT IN ('client', 'session', 'override')
