// SPDX-License-Identifier: GPL-2.0-or-later
#include "client.h"

#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "cluster/speech.h"
#include "helpers/common/agent_address.h"
#include "tools/common/common.h"
#include "wire/frame.h"

#define CLIENT_WAIT_S 7 /* for an answer, before it is asked whether the agent answers at all */
#define CLIENT_PROBE_S 3 /* for an answer that needs neither other nodes nor a disk */

static const char client_hangs[] = "the agent does not answer: see `systemctl status ehagent`";

int client_connect(bool quiet)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), err;
	/* an agent that hangs accepts nobody, and soon no more may wait for that */
	const struct timeval limit = { .tv_sec = CLIENT_WAIT_S + CLIENT_PROBE_S };
	struct ucred who;

	if (fd < 0) {
		fail(0, "socket: %s", strerror(errno));
		return -1;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	err = agent_connect(fd, agent_owner(), &who);
	if (!err)
		return fd;
	if (err == -EPERM)
		fail(0, "not the agent: process %d of user %u listens on its socket", who.pid,
		     who.uid);
	else if (!quiet && err == -EAGAIN)
		fail(0, "%s", client_hangs);
	else if (!quiet && err == -ENOENT)
		fail(0, "cannot connect to the agent of this node: there is no " AGENT_FOLDER
			" here; start the agent with `systemctl start ehagent`; a sandbox may hide "
			"the directory");
	else if (!quiet)
		fail(0,
		     "cannot connect to the agent of this node: %s; start it with "
		     "`systemctl start ehagent`",
		     strerror(-err));
	close(fd);
	errno = -err;
	return -1;
}

static int write_all(int fd, const void *data, size_t length)
{
	const char *at = data;

	while (length) {
		ssize_t n = send(fd, at, length, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		at += n;
		length -= n;
	}
	return 0;
}

/* 1: done; 0: the other side closed before the first byte; -1: error. */
static int read_all(int fd, void *data, size_t length)
{
	size_t got = 0;

	while (got < length) {
		ssize_t n = read(fd, (char *)data + got, length - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || (n == 0 && got)) {
			if (!n)
				errno = EPIPE;
			return -1;
		}
		if (n == 0)
			return 0;
		got += n;
	}
	return 1;
}

int client_send(int fd, json_t *request)
{
	char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
	uint8_t header[FRAME_HEADER];
	int err = -1;

	json_decref(request);
	if (!text) {
		fail(0, "out of memory, or an argument is not UTF-8");
		return -1;
	}
	frame_header(header, FRAME_REQUEST, strlen(text));
	if (write_all(fd, header, sizeof(header)) || write_all(fd, text, strlen(text)))
		fail(0, "the agent closed the connection: %s", strerror(errno));
	else
		err = 0;
	free(text);
	return err;
}

/* {"error":{"what","why","usage"}}: printed as an error of ehctl, with the exit code it stands for. */
bool client_refused(const json_t *reply, int *code)
{
	const json_t *error = json_object_get(reply, "error");
	const char *what, *why;

	if (!error)
		return false;
	what = json_string_value(json_object_get(error, "what"));
	why = json_string_value(json_object_get(error, "why"));
	*code = json_is_true(json_object_get(error, "usage")) ? EXIT_USAGE : EXIT_REFUSED;
	if (!why)
		why = "the agent gave no reason";
	/* The agent may refuse the command itself, which each message names. */
	if (what && !strcmp(what, command_name))
		fail(0, "%s", why);
	else
		fail(0, "%s: %s", what ? what : "refused", why);
	return true;
}

json_t *client_hear(int fd, int *code, bool *end)
{
	uint8_t header[FRAME_HEADER];
	enum frame_type type;
	uint32_t length;
	json_t *reply = NULL;
	char *text;
	int got;

	*code = EXIT_REFUSED;
	got = read_all(fd, header, sizeof(header));
	if (!got && end) {
		*end = true;
		return NULL;
	}
	if (got < 0 && errno == EAGAIN) {
		fail(0, "the agent of this node does not answer");
		return NULL;
	}
	if (got <= 0) {
		fail(0, "the agent closed the connection%s%s", got ? ": " : "",
		     got ? strerror(errno) : "; see its log");
		return NULL;
	}
	if (frame_parse(header, &type, &length) || (type != FRAME_REPLY && type != FRAME_EVENT)) {
		fail(0,
		     "cannot parse the reply of the agent: check that ehctl and ehagent have the "
		     "same version");
		return NULL;
	}
	text = malloc(length + 1);
	if (!text) {
		fail(0, "out of memory for a reply of %u bytes", length);
		return NULL;
	}
	if (length && read_all(fd, text, length) <= 0) {
		fail(0, "the reply of the agent is truncated");
		goto free_text;
	}
	reply = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
	/* Parts of it are what other hosts say, and a terminal may do what is in them. */
	speech_clean(reply);
	if (!json_is_object(reply)) {
		fail(0, "the reply of the agent is not a JSON object");
		json_decref(reply);
		reply = NULL;
	} else {
		*code = EXIT_DONE;
	}
free_text:
	free(text);
	return reply;
}

json_t *client_receive(int fd, int *code, bool *end)
{
	json_t *reply = client_hear(fd, code, end);

	if (!client_refused(reply, code))
		return reply;
	json_decref(reply);
	return NULL;
}

/* Whether there is something to read, or its end, before so many seconds have passed. */
static bool client_is_readable(int fd, int seconds)
{
	struct pollfd of = { .fd = fd, .events = POLLIN };
	int n;

	do
		n = poll(&of, 1, seconds * 1000);
	while (n < 0 && errno == EINTR);
	return n;
}

/* Whether it answers a question that it answers at once; any word is an answer. */
static bool client_lives(void)
{
	int fd = client_connect(true);
	bool lives;

	/* one that has gone has closed the connection of the question, too */
	if (fd < 0)
		return errno != EAGAIN;
	lives = client_send(fd, json_pack("{s:s}", "command", "get")) ||
		client_is_readable(fd, CLIENT_PROBE_S);
	close(fd);
	return lives;
}

bool client_wait(int fd)
{
	const struct timeval limit = { .tv_sec = CLIENT_WAIT_S + CLIENT_PROBE_S };

	/* An answer of all nodes takes as long as the hierarchy is high. */
	while (!client_is_readable(fd, CLIENT_WAIT_S))
		if (!client_lives())
			return false;
	/* also not in the middle of it */
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return true;
}

json_t *client_ask(json_t *request, int *code)
{
	json_t *reply = NULL;
	int fd = client_connect(false);

	*code = EXIT_REFUSED;
	if (fd < 0) {
		json_decref(request);
		return NULL;
	}
	if (!client_send(fd, request)) {
		if (client_wait(fd))
			reply = client_receive(fd, code, NULL);
		else
			fail(0, "%s", client_hangs);
	}
	close(fd);
	if (reply && json_integer_value(json_object_get(reply, "version")) != 1) {
		*code = fail(EXIT_REFUSED,
			     "unsupported reply version: check that ehctl and ehagent have the "
			     "same version");
		json_decref(reply);
		reply = NULL;
	}
	return reply;
}

json_t *client_ask_text(json_t *request, bool json, int *code)
{
	json_t *reply = client_ask(request, code);

	if (!reply || !json)
		return reply;
	*code = json_print_new(reply);
	return NULL;
}

const char *client_host(const json_t *object, const char *member)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_host", member);
	if (!strcmp(member, "node"))
		strcpy(name, "host");
	return text_of(object, json_object_get(object, name) ? name : member);
}

bool client_is_up(const json_t *node)
{
	return !strcmp(text_of(node, "agent"), "up");
}

const char *client_state(const json_t *node)
{
	return json_is_true(json_object_get(node, "draining")) ? "DRAINING"
							       : text_of(node, "state");
}

void client_print_draining(const json_t *status)
{
	json_t *node;
	size_t i;

	json_array_foreach(json_object_get(status, "nodes"), i, node) {
		const json_t *drain = json_object_get(node, "drain");
		bool why = json_string_length(json_object_get(drain, "reason"));
		bool who = json_string_length(json_object_get(drain, "by"));

		if (!json_is_true(json_object_get(node, "draining")))
			continue;
		printf("%s drains%s%s", client_host(node, "node"), why ? ": " : "",
		       why ? text_of(drain, "reason") : "");
		if (who)
			printf(" (%s)", text_of(drain, "by"));
		putchar('\n');
	}
}

bool client_is_user(const char *text, uint64_t *uid)
{
	const struct passwd *user = getpwnam(text);

	if (user)
		*uid = user->pw_uid;
	return user || !parse_count(text, UINT32_MAX - 1, uid);
}

int client_check_node(const char *node)
{
	int code;
	json_t *status = client_ask(json_pack("{s:s}", "command", "status"), &code), *known;
	bool found = false;
	size_t i;

	json_array_foreach(json_object_get(status, "nodes"), i, known)
		found |= !strcmp(text_of(known, "code"), node) ||
			 !strcmp(client_host(known, "node"), node);
	if (status && !found)
		fail(0,
		     "--node %s: the agent knows no such host or code; `ehctl status` lists them",
		     node);
	json_decref(status);
	return code;
}

void client_add_user(json_t *task)
{
	uid_t uid = json_integer_value(json_object_get(task, "uid"));
	struct passwd *user;

	if (!json_is_object(task) || json_object_get(task, "user"))
		return;
	user = getpwuid(uid);
	json_object_set_new(task, "user",
			    user ? json_string(user->pw_name) : json_sprintf("%u", uid));
}

const char *client_session(const json_t *task, char out[SESSION_NAME])
{
	return wish_of(out, text_of(task, "session"));
}
