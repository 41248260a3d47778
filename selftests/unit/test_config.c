// SPDX-License-Identifier: GPL-2.0-or-later
/* The agent's configuration file: values, defaults, each error with file and line. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/config.h"
#include "random.h"
#include "site/who.h"
#include "temp.h"

/* /dev/null can be read, which is all the parser asks of a certificate. */
#define GOOD                                                            \
	"# two comments, as their lines\n"                              \
	"# must count\n"                                                \
	"cluster = \"lab # no comment\"\n"                              \
	"node = \"0.1\"\n"                                              \
	"topology = \"2,1\"\n"                                          \
	"certificate = \"/dev/null\"\n"                                 \
	"key = \"/dev/null\"\n"                                         \
	"authority = \"/dev/null\"\n"                                   \
	"peer \"0.0\" { host = \"n0\" address = \"10.77.0.1:7411\" }\n" \
	"peer \"0.1\" { host = \"n1\" address = \"[fd00::2]:7412\" }\n"
#define GOOD_LINES 10

static char file[TEMP_PATH];
static const char *const *joins; /* as of the command line */

static struct config *read_text(const char *text, char **errors)
{
	FILE *out = fopen(file, "w"), *messages;
	struct config *c;
	size_t size;

	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, strlen(text), out), strlen(text));
	assert_int_equal(fclose(out), 0);
	messages = open_memstream(errors, &size);
	assert_non_null(messages);
	c = config_read(file, joins, messages);
	fclose(messages);
	return c;
}

static struct config *read_good(const char *more)
{
	char text[4096], *errors;
	struct config *c;

	snprintf(text, sizeof(text), "%s%s", GOOD, more);
	c = read_text(text, &errors);
	if (!c)
		print_error("%s", errors);
	assert_non_null(c);
	assert_string_equal(errors, "");
	free(errors);
	return c;
}

static void test_values(void **state)
{
	struct config *c = read_good(
		"threshold = 2.5\nthreshold-floor = 1.001\n"
		"threshold-length = 0\ncapacity = 3\nload-index = \"cpu\"\n"
		"dwell = 0\ntime-limit = 10000\nlease = 100\nheartbeat = 250\n"
		"guests = 0\nheadroom = 7\nallow-root = true\nlog = \"error\"\n"
		"no-new-privs = true\n"
		"guest-pids = 0\nguest-memory = 512\nuid-min = 500\nallow-users = { \"backup\", \"www-data\" }\n"
		"exclude = { \"/usr/bin/sudo\", \"/opt/*\" }\n"
		"cgroup = \"/sys/fs/cgroup/x\"\nstub = \"/x/stub\"\n");

	assert_string_equal(c->cluster, "lab # no comment");
	assert_int_equal(c->node.index, 1);
	assert_int_equal(c->npeers, 2);
	assert_true(c->has_node);
	assert_string_equal(c->host, "n1");
	assert_string_equal(c->address.text, "[fd00::2]:7412");
	assert_string_equal(c->peers[1].host, "n1");
	assert_string_equal(c->peers[1].text, "0.1");
	assert_int_equal(c->peers[0].address.sa.ss_family, AF_INET);
	assert_int_equal(c->peers[1].address.sa.ss_family, AF_INET6);
	assert_int_equal(c->threshold, 2500);
	assert_int_equal(c->threshold_floor, 1001);
	assert_int_equal(c->threshold_length, 0);
	assert_int_equal(c->capacity, 3000);
	assert_int_equal(c->load_index, 2);
	assert_int_equal(c->time_limit, 10000);
	assert_int_equal(c->guests, 0);
	assert_int_equal(c->headroom, 7);
	assert_true(c->allow_root);
	assert_true(c->no_new_privs);
	assert_int_equal(c->uid_min, 500);
	assert_int_equal(c->guest_pids, 0);
	assert_int_equal(c->guest_memory, 512);
	assert_int_equal(c->nallow_users, 2);
	assert_string_equal(c->allow_users[1], "www-data");
	assert_int_equal(c->log.all, LOG_LEVEL_ERROR);
	assert_int_equal(c->nexclude, 2);
	assert_true(config_excludes(c, "/usr/bin/sudo"));
	assert_true(config_excludes(c, "/opt/a/b"));
	assert_false(config_excludes(c, "/usr/bin/sudo2"));
	assert_string_equal(c->stub, "/x/stub");
	config_free(c);
}

/* A list has a bound. */
static void test_many(void **state)
{
	static const char *const lists[] = { "guest-deny-users", "away-deny-programs" };
	char text[4096], *errors;

	for (size_t i = 0; i < 2; i++)
		for (size_t n = SITE_ITEMS_MAX; n <= SITE_ITEMS_MAX + 1; n++) {
			struct config *c;

			snprintf(text, sizeof(text), "%s%s = { ", GOOD, lists[i]);
			for (size_t j = 0; j < n; j++)
				sprintf(text + strlen(text), "%s\"%s%zu\"", j ? ", " : "",
					i ? "/opt/" : "@g", j);
			strcat(text, " }\n");
			c = read_text(text, &errors);
			assert_true(!c == (n > SITE_ITEMS_MAX));
			assert_true(c || strstr(errors, "more than 64 items"));
			config_free(c);
			free(errors);
		}
}

static void test_defaults(void **state)
{
	uint32_t processors = sysconf(_SC_NPROCESSORS_ONLN) * 1000;
	struct config *c = read_good("");

	assert_int_equal(c->threshold, processors);
	assert_int_equal(c->threshold_floor, processors);
	assert_int_equal(c->capacity, processors);
	assert_int_equal(c->threshold_length, 1000);
	assert_int_equal(c->load_index, 0);
	assert_int_equal(c->time_limit, 100);
	assert_int_equal(c->lease, 10000);
	assert_int_equal(c->heartbeat, 1000);
	assert_int_equal(c->guests, 64);
	assert_false(c->allow_root);
	assert_false(c->no_new_privs);
	assert_int_equal(c->uid_min, 1000);
	assert_int_equal(c->guest_pids, 4096);
	assert_int_equal(c->guest_memory, 0);
	assert_int_equal(c->nallow_users, 0);
	assert_int_equal(c->nguest_allow + c->nguest_deny + c->naway_allow + c->naway_deny, 0);
	assert_int_equal(c->naway_allow_programs + c->naway_deny_programs, 0);
	assert_int_equal(c->nexclude, 0);
	config_free(c);
}

/* Appended to the good file: the error is on the line after it, or on `line`. */
static const struct {
	const char *more, *what;
} bad[] = {
	{ "bogus = 1\n", "no such option 'bogus'" },
	{ "threshold = -1\n", "threshold: -1 is not between" },
	{ "threshold = 2000000\n", "threshold: 2000000 is not between 0 and 1000000 tasks" },
	{ "threshold = nan\n", "threshold: nan is not between" },
	{ "threshold = much\n", "invalid floating point value" },
	{ "capacity = 0\n", "capacity: 0 is not between" },
	{ "guests = 1e9\n", "invalid integer value" },
	{ "guests = 99999999999999999999\n", "" },
	{ "time-limit = 0\n", "time-limit: 0 is not between" },
	{ "time-limit = 10001\n", "time-limit: 10001 is not between" },
	{ "lease = 99\n", "lease: 99 is not between" },
	{ "heartbeat = 0\n", "heartbeat: 0 is not between" },
	{ "headroom = -1\n", "headroom: -1 is not between" },
	{ "uid-min = 0\n", "uid-min: 0 is not between" },
	{ "user-map = { \"ann=root\" }\n", "user-map: \"ann=root\" is not \"*\" or" },
	{ "guest-allow-users = { \"a b\" }\n", "guest-allow-users: \"a b\" is not USER" },
	{ "guest-deny-users = { \"ann\", \"@\" }\n", "guest-deny-users: \"@\" is not USER" },
	{ "away-allow-users = { \"/opt\" }\n", "away-allow-users: \"/opt\" is not USER" },
	{ "away-deny-users = { \"4294967295\" }\n", "away-deny-users: \"4294967295\" is not" },
	{ "away-allow-programs = { \"gcc\" }\n", "away-allow-programs: gcc is not an absolute" },
	{ "away-deny-programs = { \"/opt/../x\" }\n", "away-deny-programs: \"/opt/../x\" has" },
	{ "labels = { \"gpu\", \"a b\" }\n", "labels: \"a b\" is not a label" },
	{ "only-on = { \"/opt\" }\n", "only-on: \"/opt\" is not LABEL:PATH" },
	{ "never-on = { \"gpu:opt\" }\n", "never-on: \"gpu:opt\" is not LABEL:PATH" },
	{ "guests-per-user = -1\n", "guests-per-user: -1 is not between 0 and 100000" },
	{ "guest-deny-nodes = { \"a b\" }\n", "guest-deny-nodes: \"a b\" is not a name" },
	{ "away-allow-nodes = { \"\" }\n", "away-allow-nodes: \"\" is not a name" },
	{ "guest-cpu = -1\n", "guest-cpu: -1 is not between" },
	{ "allow-root = perhaps\n", "invalid boolean value" },
	{ "no-new-privs = 2\n", "invalid boolean value" },
	{ "load-index = \"tea\"\n", "load-index: \"tea\" is not" },
	{ "view = \"mine\"\n", "view: \"mine\" is not" },
	{ "view = \"nfs\"\n", "view: \"nfs\" is not" },
	{ "view-own = { \"usr\" }\n", "view-own: usr is not an absolute path" },
	{ "log = \"loud\"\n", "log: \"loud\" is not" },
	{ "stub = \"x\"\n", "stub: x is not an absolute path" },
	{ "cgroup = \"\"\n", "cgroup: empty" },
	{ "key = \"/nonexistent\"\n", "key: /nonexistent: No such file" },
	{ "topology = \"3\"\n", "topology: \"3\" is not n,l" },
	{ "topology = \"11,1\"\n", "topology: \"11,1\" is not n,l" },
	{ "peer \"0.1\" { host = \"a\" address = \"1.2.3.4:5\" }\n", "duplicate title" },
	{ "peer \"0.2\" { host = \"n1\" address = \"1.2.3.4:5\" }\n", "same host as peer \"0.1\"" },
	{ "peer \"0.2\" { host = \"n2\" address = \"10.77.0.1:7411\" }\n",
	  "same address as peer \"0.0\"" },
	{ "peer \"0.4\" { host = \"n4\" address = \"1.2.3.4:5\" }\n", "not a node code" },
	{ "peer \"0\" { host = \"n4\" address = \"1.2.3.4:5\" }\n", "not a node code" },
	{ "peer \"0.2.1\" { host = \"n4\" address = \"1.2.3.4:5\" }\n", "not a node code" },
	{ "peer \"0.2\" { address = \"1.2.3.4:5\" }\n", "host is missing" },
	{ "peer \"0.2\" { host = \"n2\" }\n", "address is missing" },
	{ "peer \"0.2\" { host = \"n2\" address = \"1.2.3.4\" }\n", "address: \"1.2.3.4\" is not" },
	{ "peer \"0.2\" { host = \"n2\" address = \"1.2.3.4:0\" }\n",
	  "address: \"1.2.3.4:0\" is not" },
	{ "peer \"0.2\" { host = \"n2\" address = \"1.2.3.4:65536\" }\n", "is not ADDRESS:PORT" },
	{ "peer \"0.2\" { host = \"n2\" address = \"name:7411\" }\n", "numeric address" },
	{ "peer \"0.2\" { host = \"n2\" address = \"::1:7411\" }\n", "is not ADDRESS:PORT" },
	{ "join = \"name\"\n", "join: \"name\" is not" },
	{ "join = { \"1.2.3.4\", \"1.2.3.4:0\" }\n", "join: \"1.2.3.4:0\" is not" },
	{ "address = \"1.2.3.4\"\n", "address: \"1.2.3.4\" is not" },
	{ "address = \"1.2.3.4:5\"\n", "address: peer \"0.1\" says [fd00::2]:7412" },
	{ "state = \"x\"\n", "state: x is not an absolute path" },
	{ "link-idle = 99\n", "link-idle: 99 is not between" },
	{ "code-days = 3651\n", "code-days: 3651 is not between" },
	{ "peer \"0.2\" { host = \"0123456789012345678901234567890123456789012345678901234567890"
	  "1234\" address = \"1.2.3.4:5\" }\n",
	  "host: empty, or longer" },
	{ "peer \"0.2\" { host = \"\" address = \"1.2.3.4:5\" }\n", "host: empty" },
	{ "= 3\n", "unexpected token" },
	{ "cluster lab\n", "missing equal sign" },
};

static void test_errors(void **state)
{
	char text[4096], where[64], *errors;

	snprintf(where, sizeof(where), "%s:%d: ", file, GOOD_LINES + 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct config *c;

		snprintf(text, sizeof(text), "%s%s", GOOD, bad[i].more);
		c = read_text(text, &errors);
		if (c || strncmp(errors, where, strlen(where)) || !strstr(errors, bad[i].what))
			print_error("%s gave %s: %s", bad[i].more, c ? "a configuration" : "errors",
				    errors);
		assert_null(c);
		assert_memory_equal(errors, where, strlen(where));
		assert_non_null(strstr(errors, bad[i].what));
		free(errors);
	}
}

/* Each line that has no default is missed. */
static void test_missing(void **state)
{
	static const char *const needed[] = { "cluster", "node",      "topology",    "certificate",
					      "key",	 "authority", "peer \"0.1\"" };
	char text[4096], *at, *end, *errors;

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		char word[32];

		snprintf(word, sizeof(word), "\n%s", needed[i]);
		strcpy(text, GOOD);
		at = strstr(text, word);
		assert_non_null(at);
		at++;
		end = strchr(at, '\n');
		memmove(at, end, strlen(end) + 1);
		assert_null(read_text(text, &errors));
		assert_memory_equal(errors, file, strlen(file));
		assert_non_null(strstr(errors, i == 6 ? "no peer block \"0.1\"" : "is missing"));
		free(errors);
	}
}

static void test_unreadable(void **state)
{
	char *errors;
	size_t size;
	FILE *messages;
	static const char *const files[] = { "/nonexistent/file", "/tmp", "/dev/zero" };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		messages = open_memstream(&errors, &size);
		assert_null(config_read(files[i], NULL, messages));
		fclose(messages);
		assert_memory_equal(errors, files[i], strlen(files[i]));
		free(errors);
	}
	assert_null(read_text("", &errors));
	free(errors);
}

/* Of a node that joins: no code, no topology, no peers. */
#define JOINS                                                                   \
	"cluster = \"lab\"\ncertificate = \"/dev/null\"\nkey = \"/dev/null\"\n" \
	"authority = \"/dev/null\"\n"

static void test_join(void **state)
{
	static const char *const more[] = { "10.0.0.1", "[::1]:9", NULL };
	struct config *c;
	char *errors;

	assert_null(read_text(JOINS "address = \"1.2.3.4:5\"\n", &errors));
	assert_non_null(strstr(errors, "topology is missing"));
	free(errors);
	assert_null(read_text(JOINS "join = \"1.2.3.4\"\n", &errors));
	assert_non_null(strstr(errors, "address is missing"));
	free(errors);
	assert_null(read_text(JOINS "join = \"1.2.3.4\"\naddress = \"1.2.3.4:5\"\nnode = \"0.1\"\n",
			      &errors));
	assert_non_null(strstr(errors, "topology is missing"));
	free(errors);

	joins = more;
	c = read_text(JOINS "join = { \"1.2.3.4\", \"[fd00::1]\" }\naddress = \"1.2.3.4:5\"\n",
		      &errors);
	joins = NULL;
	assert_string_equal(errors, "");
	free(errors);
	assert_non_null(c);
	assert_int_equal(c->njoin, 4);
	assert_string_equal(c->join[0].text, "10.0.0.1:7411");
	assert_string_equal(c->join[1].text, "[::1]:9");
	assert_string_equal(c->join[2].text, "1.2.3.4:7411");
	assert_string_equal(c->join[3].text, "[fd00::1]:7411");
	assert_string_equal(c->address.text, "1.2.3.4:5");
	assert_string_equal(c->host, "");
	assert_false(c->has_node);
	assert_int_equal(c->topology.n, 0);
	config_free(c);

	/* a configured node may join, too: its code is a wish */
	c = read_good("join = \"10.77.0.1\"\n");
	assert_int_equal(c->njoin, 1);
	assert_true(c->has_node);
	config_free(c);
}

static void test_adopt(void **state)
{
	const struct eh_topology other = { 3, 1 }, same = { 2, 1 };
	struct config *c = read_good("join = \"10.77.0.1\"\n");
	char *errors;
	size_t size;
	FILE *messages = open_memstream(&errors, &size);

	assert_false(config_adopt(c, "n1", &other, (struct eh_code){ 0, 2 }, messages));
	assert_false(config_adopt(c, "n2", &same, (struct eh_code){ 0, 2 }, messages));
	fclose(messages);
	assert_non_null(strstr(errors, "topology: 2,1 is not the topology of the cluster, 3,1"));
	assert_non_null(
		strstr(errors, ":10: host: \"n1\" is not the CN of the certificate, \"n2\""));
	assert_true(config_adopt(c, "n1", &same, (struct eh_code){ 0, 2 }, stderr));
	assert_int_equal(c->node.index, 2);
	free(errors);
	config_free(c);
}

static const struct {
	const char *from, *to, *error; /* NULL: may change */
} changes[] = {
	{ "lab", "bal", "cluster cannot change" },
	{ "2,1", "3,1", "topology cannot change" },
	{ "node = \"0.1\"", "node = \"0.0\"", "node cannot change" },
	{ "7412", "7413", "the node's own address cannot change" },
	{ "authority", "cgroup = \"/x\"\nauthority", "cgroup cannot change" },
	{ "authority", "stub = \"/x\"\nauthority", NULL },
	{ "authority", "threshold = 9\nguests = 3\nauthority", NULL },
	{ "7411", "7410", NULL },
};

static void test_replace(void **state)
{
	struct config *from = read_good(""), *to;
	char text[4096], *errors, *none, *at;
	FILE *messages;
	size_t size;

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		at = strstr(GOOD, changes[i].from);
		assert_non_null(at);
		snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - GOOD), GOOD, changes[i].to,
			 at + strlen(changes[i].from));
		to = read_text(text, &none);
		assert_string_equal(none, "");
		free(none);
		messages = open_memstream(&errors, &size);
		assert_non_null(messages);
		assert_int_equal(config_may_replace(from, to, messages), !changes[i].error);
		fclose(messages);
		if (changes[i].error)
			assert_non_null(strstr(errors, changes[i].error));
		else
			assert_string_equal(errors, "");
		free(errors);
		config_free(to);
	}
	config_free(from);
}

/* Damaged files give a configuration or an error, never a crash or a silent refusal. */
static void test_damaged(void **state)
{
	unsigned int damaged = 0;
	char text[sizeof(GOOD)], *errors;

	random_begin();
	for (int i = 0; i < 2000; i++) {
		struct config *c;

		strcpy(text, GOOD);
		for (int n = random_below(4); n >= 0; n--)
			text[random_below(sizeof(text) - 1)] =
				random_below(5) ? 32 + random_below(95) : 1 + random_below(255);
		if (!random_below(4))
			text[random_below(sizeof(text) - 1)] = '\0';
		c = read_text(text, &errors);
		assert_true(!c == !!*errors);
		damaged += !c;
		config_free(c);
		free(errors);
	}
	/* libconfuse shows characters that it knows nothing of: the result has a line of its own. */
	print_message("\n");
	/* else it was not a test */
	assert_true(damaged > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),	 cmocka_unit_test(test_many),
		cmocka_unit_test(test_defaults), cmocka_unit_test(test_errors),
		cmocka_unit_test(test_missing),	 cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_join),	 cmocka_unit_test(test_adopt),
		cmocka_unit_test(test_replace),	 cmocka_unit_test(test_damaged),
	};
	int fd = mkstemp(temp_path(file, "config-XXXXXX")), status;

	if (fd < 0)
		return 1;
	close(fd);
	status = cmocka_run_group_tests_name("config", tests, NULL, NULL);
	unlink(file);
	return status;
}
