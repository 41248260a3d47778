// SPDX-License-Identifier: GPL-2.0-or-later
/* The text for Prometheus, of what other nodes may say: a series twice, or a broken label, loses the whole scrape. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#include "tools/ehmetrics/exposition.h"

static char *written(const char *json, bool own, enum exposition_format format)
{
	json_t *status = json ? json_loads(json, 0, NULL) : NULL;
	const struct exposition_look look = { status, 0.25, own };
	char *text;

	assert_true(!json || status);
	text = exposition_write(&look, format);
	assert_non_null(text);
	json_decref(status);
	return text;
}

static int count(const char *text, const char *what)
{
	int n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

static void test_no_agent(void **state)
{
	char *text = written(NULL, false, EXPOSITION_OPENMETRICS);

	assert_string_equal(
		text, "# HELP ehsched_up Whether the agent of this node has answered: 1, or 0\n"
		      "# TYPE ehsched_up gauge\nehsched_up 0\n"
		      "# HELP ehsched_ask_seconds How long the agent took to answer\n"
		      "# TYPE ehsched_ask_seconds gauge\n# UNIT ehsched_ask_seconds seconds\n"
		      "ehsched_ask_seconds 0.25\n# EOF\n");
	free(text);
}

static void test_once(void **state)
{
	char *text = written("{\"self\":\"0.0\",\"nodes\":["
			     "{\"code\":\"0.0\",\"host\":\"a\",\"agent\":\"up\",\"load\":1.5},"
			     "{\"code\":\"0.0\",\"host\":\"a\",\"agent\":\"up\",\"load\":2.5},"
			     "{\"code\":\"0.1\",\"host\":\"b\",\"agent\":\"up\",\"load\":3}]}",
			     false, EXPOSITION_TEXT);

	assert_int_equal(count(text, "\nehsched_node_load_tasks{node=\"0.0\",host=\"a\"} 1.5\n"),
			 1);
	assert_int_equal(count(text, "\nehsched_node_load_tasks{"), 2);
	assert_int_equal(count(text, "\nehsched_node_up{"), 2);
	free(text);
}

static void test_escapes(void **state)
{
	char *text = written(
		"{\"self\":\"0.0\",\"nodes\":[{\"code\":\"0.1\",\"agent\":\"up\",\"load\":1,"
		"\"host\":\"a\\\\\\\"} 9\\n\\u00e9\\nehsched_up 7\"}]}",
		false, EXPOSITION_TEXT);

	assert_int_equal(count(text, "host=\"a\\\\\\\"} 9\\n\xc3\xa9\\nehsched_up 7\"}"), 3);
	assert_int_equal(count(text, "\nehsched_up "), 1);
	free(text);
}

/* Members of other types than they should have are left out. */
static void test_types(void **state)
{
	char *text = written(
		"{\"self\":7,\"nodes\":[7,{},{\"code\":7},"
		"{\"code\":\"0.1\",\"host\":[],\"agent\":\"up\",\"load\":\"9\",\"threshold\":null,"
		"\"tasks\":[],\"draining\":\"yes\",\"state\":\"beaten\",\"controller_of\":3}],"
		"\"groups\":{},\"placed\":[{\"executor\":\"0.1\"},{\"tasks\":3},3],\"reasons\":3,"
		"\"messages\":{\"sent\":{\"ask\":\"x\",\"answer\":4}},\"epoch\":\"1\"}",
		false, EXPOSITION_TEXT);

	assert_int_equal(count(text, "\nehsched_node_load_tasks{"), 0);
	assert_int_equal(count(text, "\nehsched_node_draining{"), 0);
	assert_int_equal(count(text, "\nehsched_node_tasks{"), 0);
	assert_int_equal(count(text, "\nehsched_placed_tasks_total{"), 0);
	assert_int_equal(count(text, "\nehsched_sent_messages_total{"), 1);
	assert_int_equal(
		count(text, "\nehsched_node_state{node=\"0.1\",host=\"\",state=\"sender\"} 0\n"),
		1);
	assert_null(strstr(text, "} 1\nehsched_node_state"));
	free(text);
}

static void test_own(void **state)
{
	const char *status = "{\"self\":\"0.1\",\"self_host\":\"b\",\"nodes\":["
			     "{\"code\":\"0.0\",\"host\":\"a\",\"agent\":\"up\",\"load\":1},"
			     "{\"code\":\"0.1\",\"host\":\"b\",\"agent\":\"up\",\"load\":2}],"
			     "\"groups\":[{\"code\":\"0\",\"level\":1,\"nodes\":2}],"
			     "\"reasons\":[{\"reason\":\"sender\",\"tasks\":5}]}";
	char *all = written(status, false, EXPOSITION_OPENMETRICS);
	char *own = written(status, true, EXPOSITION_OPENMETRICS);

	assert_non_null(strstr(all, "node=\"0.0\""));
	assert_non_null(strstr(all, "\nehsched_group_nodes{group=\"0\",level=\"1\","));
	assert_null(strstr(own, "node=\"0.0\""));
	assert_null(strstr(own, "ehsched_group_"));
	assert_non_null(strstr(own, "\nehsched_node_load_tasks{node=\"0.1\",host=\"b\"} 2\n"));
	assert_non_null(strstr(
		own,
		"\nehsched_decided_execs_total{node=\"0.1\",host=\"b\",reason=\"sender\"} 5\n"));
	assert_non_null(strstr(
		own,
		"\n# TYPE ehsched_decided_execs counter\n# UNIT ehsched_decided_execs execs\n"));
	free(own);
	free(all);
}

/* What other hosts hold: of any kind, and with names that they chose. */
static void test_quotas(void **state)
{
	char *text = written(
		"{\"self\":\"0.0\",\"self_host\":\"a\",\"quotas\":{\"streams\":64,\"memory\":2097152,"
		"\"peers\":[7,{},{\"host\":7,\"streams\":3},"
		"{\"host\":\"b\\\"} 1\",\"streams\":3,\"memory\":\"9\",\"requests\":1,\"bodies\":0,"
		"\"refused\":{\"streams\":12,\"late\":null}}]}}",
		true, EXPOSITION_OPENMETRICS);

	assert_non_null(strstr(text, "\nehsched_peer_limit_streams{node=\"0.0\",host=\"a\"} 64\n"));
	assert_non_null(
		strstr(text, "\nehsched_peer_limit_bytes{node=\"0.0\",host=\"a\"} 2097152\n"));
	assert_non_null(strstr(text, "\nehsched_peer_open_streams{node=\"0.0\",host=\"a\","
				     "peer=\"b\\\"} 1\"} 3\n"));
	assert_int_equal(count(text, "\nehsched_peer_open_streams{"), 1);
	assert_int_equal(count(text, "\nehsched_peer_held_bytes{"), 0);
	assert_int_equal(count(text, "\nehsched_peer_unanswered_requests{"), 1);
	assert_int_equal(count(text, "\nehsched_peer_unfinished_bytes{"), 1);
	assert_int_equal(count(text, "\nehsched_peer_refused_requests_total{"), 1);
	assert_non_null(strstr(text, "limit=\"streams\"} 12\n"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_agent), cmocka_unit_test(test_once),
		cmocka_unit_test(test_escapes),	 cmocka_unit_test(test_types),
		cmocka_unit_test(test_own),	 cmocka_unit_test(test_quotas),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
