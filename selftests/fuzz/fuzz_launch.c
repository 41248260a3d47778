// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A request to ehlaunch, and what getent says of a user: what is called good ends within its bytes, names
 * nothing that leads elsewhere, and what a process gets is never above what the site permits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "helpers/common/names.h"
#include "helpers/ehlaunch/cgroup.h"
#include "helpers/ehlaunch/end.h"
#include "helpers/ehlaunch/files.h"
#include "helpers/ehlaunch/kernel.h"
#include "helpers/ehlaunch/limits.h"
#include "helpers/ehlaunch/look.h"
#include "helpers/ehlaunch/session.h"
#include "helpers/ehlaunch/site.h"
#include "helpers/ehlaunch/view.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_id(const char *id)
{
	must(memchr(id, 0, LAUNCH_ID_MAX) && *id && !strchr(id, '/') && strcmp(id, ".") &&
	     strcmp(id, ".."));
}

/* The name of root is not looked up, as nothing is done for root. */
static void check_user(const char *name, uid_t uid)
{
	must(memchr(name, 0, LAUNCH_USER_MAX));
	must(!uid || geteuid() || (!strchr(name, ':') && !strchr(name, '\n')));
}

static void check_stay(const struct launch_stay *s)
{
	must(memchr(s->token, 0, sizeof(s->token)) && memchr(s->other, 0, sizeof(s->other)));
}

/* What is reduced has no more than before, and nothing that only root has. */
static void check_limits(const struct request *r)
{
	uint64_t hard[JOB_RLIMITS];
	struct launch_start q = r->start.q;

	for (int i = 0; i < JOB_RLIMITS; i++)
		hard[i] = q.rlimit[(i + 1) % JOB_RLIMITS][1] / 2;
	limits_reduce(&q, hard, false);
	for (int i = 0; i < JOB_RLIMITS; i++)
		must(q.rlimit[i][0] <= hard[i] && q.rlimit[i][1] <= hard[i]);
	must(q.nice >= 0 && !q.traits[JOB_CAP_AMBIENT] && !q.traits[JOB_CAP_INHERITABLE]);
	must(!q.traits[JOB_TRAITS_KNOWN] || q.traits[JOB_POLICY] == 0 ||
	     q.traits[JOB_POLICY] == 3 || q.traits[JOB_POLICY] == 5);
}

static void fuzz_request(const uint8_t *data, size_t size)
{
	static struct request *r;

	rules.uid_min = 1000;
	r = r ?: malloc(sizeof(*r));
	if (!r || !size)
		return;
	r->nfds = data[0];
	data++;
	size--;
	if (size > sizeof(*r) - offsetof(struct request, head))
		size = sizeof(*r) - offsetof(struct request, head);
	/* what an earlier request has left is another one's */
	memset(&r->head, 'x', 65536);
	memcpy(&r->head, data, size);
	r->length = size;
	if (size < sizeof(r->head))
		return;
	if (end_is_good(r)) {
		check_id(r->start.q.id);
		check_user(r->start.q.user, r->start.q.uid);
		check_limits(r);
		must(!rules_admit(&rules, r->start.q.user, 0));
		must(rules_admit(&rules, r->start.q.user, r->start.q.uid) ==
		     (r->start.q.uid >= 1000 && r->start.q.uid != RULES_NOBODY &&
		      r->start.q.uid != (uid_t)-1));
	}
	if (view_is_good(r)) {
		check_user(r->mount.q.user, r->mount.q.uid);
		check_stay(&r->mount.q.stay);
		must(r->nfds == 1 + (int)r->mount.q.ntrees);
		must(!r->mount.q.ntrees || !strcmp(r->mount.paths, "/"));
	}
	if (files_is_good(r)) {
		check_user(r->files.q.user, r->files.q.uid);
		check_stay(&r->files.q.stay);
		must(r->files.path[0] == '/' &&
		     memchr(r->files.path, 0, size - sizeof(r->files.q)));
	}
	if (session_is_good(r))
		must(memchr(r->session.wish, 0, sizeof(r->session.wish)));
	if (cgroup_kill_is_good(r))
		check_id(r->kill.id);
	must(!kernel_is_good(r) || r->nfds == 1);
	must(!look_is_good(r) || size == sizeof(r->look));
}

static void fuzz_names(const uint8_t *data, size_t size)
{
	gid_t groups[16];
	struct user u = { .groups = groups };
	char *text = malloc(size + !size), name[LAUNCH_USER_MAX] = "u";
	int err;

	if (!text)
		return;
	memcpy(text, data, size);
	err = names_parse_passwd(text, size, "user", &u);
	must(!err || err == -ENOENT);
	u.ngroups = 0;
	err = names_parse_groups(text, size, "user", 16, &u);
	must(!err || err == -ENOENT || err == -E2BIG);
	must(err || u.ngroups <= 16);
	memcpy(name, data, size < sizeof(name) ? size : sizeof(name));
	if (names_is_good(name))
		check_user(name, 1);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] & 1)
		fuzz_request(data + 1, size - 1);
	else
		fuzz_names(data + 1, size - 1);
	return 0;
}
