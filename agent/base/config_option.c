// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/config_option.h"

#include <string.h>
#include <linux/ehsched.h>

#include "base/config_data.h"
#include "base/config_kind.h"
#include "wire/launch.h"
#include "wire/view.h"

#define TASKS_MAX (EHS_MAX_LOAD / 1000.0)

#define FIELD(name) \
	.offset = offsetof(struct config, name), .size = sizeof(((struct config *)0)->name)
#define LIST(name) \
	.offset = offsetof(struct config, name), .count = offsetof(struct config, n##name)
#define LINE(name) .line = offsetof(struct config, name)
#define PEER_FIELD(name) .offset = offsetof(struct config_peer, name)
#define LIMITS(low, high, of) .min = (low), .max = (high), .unit = (of)

static const char *const option_indexes[] = { "runnable", "tasks", "cpu", NULL };
static const char *const option_views[] = { "shared", "home", "auto", NULL };
static const char *const option_carriers[] = { "fuse", "9p", NULL };

/* clang-format off */
const struct config_option config_options[] = {
	{ "cluster", &config_kind_text, FIELD(cluster), .required = true, .fixed = true,
	  .help = "agents with another cluster name are refused" },
	{ "node", &config_kind_code, FIELD(node), .fixed = true,
	  .help = "code of this node; needs a peer block (with join: the preferred code)" },
	{ "topology", &config_kind_topology, FIELD(topology), .fixed = true,
	  .help = "n,l of EH(n,l)" },
	{ "join", &config_kind_join, LIST(join),
	  .help = "members to join through, instead of node, topology and peers" },
	{ "address", &config_kind_address, FIELD(address), LINE(address_line), .fixed = true,
	  .called = "the node's own address",
	  .help = "address to listen on and to be reached at; required with join" },
	{ "state", &config_kind_path, "/var/lib/ehsched/state.json", FIELD(state),
	  .help = "where the assigned code and the roster are kept" },
	{ "certificate", &config_kind_file, FIELD(certificate), LINE(lines[CONFIG_CERTIFICATE]),
	  .required = true,
	  .help = "certificate of this node; its CN is the host name" },
	{ "key", &config_kind_file, FIELD(key), LINE(lines[CONFIG_KEY]), .required = true,
	  .help = "private key of the certificate" },
	{ "authority", &config_kind_file, FIELD(authority), LINE(lines[CONFIG_AUTHORITY]),
	  .required = true,
	  .help = "only certificates signed by this authority are accepted" },
	{ "authority-key", &config_kind_file, "", FIELD(authority_key),
	  LINE(lines[CONFIG_AUTHORITY_KEY]),
	  .help = "private key of the authority, on the host that admits others (ehctl invite)" },
	{ "cgroup", &config_kind_path, "/sys/fs/cgroup/ehsched.slice", FIELD(cgroup), .fixed = true,
	  .help = "managed/, all/ and guest/ are created below it" },
	{ "stub", &config_kind_path, "/usr/libexec/ehsched/ehstub", FIELD(stub),
	  .help = "stands in at home for a task away" },
	{ "launcher", &config_kind_path, "", FIELD(launcher), .fixed = true,
	  .help = "socket of ehlaunch; default: root starts one, others try " LAUNCH_PATH },

	{ "load-index", &config_kind_word, "runnable", FIELD(load_index), .words = option_indexes,
	  .help = "runnable | tasks | cpu" },
	{ "threshold", &config_kind_tasks, FIELD(threshold), LIMITS(0, TASKS_MAX, "tasks"),
	  .help = "until a controller first changes it; default: number of processors" },
	{ "threshold-floor", &config_kind_tasks, FIELD(threshold_floor),
	  LIMITS(0, TASKS_MAX, "tasks"),
	  .help = "controllers never set a lower threshold; default: number of processors" },
	{ "threshold-length", &config_kind_tasks, "1.0", FIELD(threshold_length),
	  LIMITS(0, TASKS_MAX, "tasks"),
	  .help = "in tasks" },
	{ "capacity", &config_kind_tasks, FIELD(capacity), LIMITS(0.001, TASKS_MAX, "tasks"),
	  .help = "weight w of this node's share of the load; default: number of processors" },
	{ "dwell", &config_kind_number, "1000", FIELD(dwell), LIMITS(0, 60000, "ms"),
	  .help = "ms below threshold - length before the node is a receiver" },
	{ "time-limit", &config_kind_number, "100", FIELD(time_limit),
	  LIMITS(1, EHS_MAX_TIME_LIMIT, "ms"),
	  .help = "ms an exec may wait for a verdict" },
	{ "lease", &config_kind_number, "10000", FIELD(lease), LIMITS(100, 60000, "ms"),
	  .help = "ms a reservation is kept while its job does not arrive" },
	{ "job-limit", &config_kind_number, "60000", FIELD(job_limit), LIMITS(100, 86400000, "ms"),
	  .help = "ms without a connection between the nodes after which a task away is lost" },
	{ "heartbeat", &config_kind_number, "1000", FIELD(heartbeat), LIMITS(100, 60000, "ms"),
	  .help = "ms between PINGs; a peer silent for three of them is down" },
	{ "link-idle", &config_kind_number, "60000", FIELD(link_idle), LIMITS(100, 86400000, "ms"),
	  .help = "ms after which an unused connection is closed" },
	{ "guests", &config_kind_number, "64", FIELD(guests), LIMITS(0, 100000, "guests"),
	  .help = "maximum number of guests; 0: accept none" },
	{ "guest-pids", &config_kind_number, "4096", FIELD(guest_pids), LIMITS(0, 1 << 22, "tasks"),
	  .help = "maximum number of processes and threads of a guest; 0: no limit" },
	{ "guest-memory", &config_kind_number, "0", FIELD(guest_memory), LIMITS(0, 1 << 30, "MiB"),
	  .help = "maximum MiB of memory of a guest; 0: no limit" },
	{ "headroom", &config_kind_number, "64", FIELD(headroom), LIMITS(0, 1 << 30, "MiB"),
	  .help = "MiB of memory that must stay available" },
	{ "digest-limit", &config_kind_number, "4096", FIELD(digest_limit),
	  LIMITS(1, 1 << 24, "MiB"),
	  .help = "MiB; a larger program is not compared, and so not run elsewhere" },
	{ "allow-root", &config_kind_flag, "false", FIELD(allow_root),
	  .help = "accept guests of UID 0, and capabilities of guests" },
	{ "uid-min", &config_kind_number, "1000", FIELD(uid_min), LIMITS(1, 1u << 31, ""),
	  .help = "guests of users below it, and of 65534, are refused" },
	{ "allow-users", &config_kind_texts, LIST(allow_users),
	  .help = "names of such users whose guests are accepted" },
	{ "no-new-privs", &config_kind_flag, "false", FIELD(no_new_privs),
	  .help = "tasks with no_new_privs may be transferred, too; guests get it there" },
	{ "lazy-thresholds", &config_kind_flag, "false", FIELD(lazy),
	  .help = "send threshold changes only along with other messages" },
	{ "view", &config_kind_word, "shared", FIELD(view), .words = option_views,
	  .first_word = VIEW_SHARED,
	  .help = "whose files transferred tasks see: shared | home | auto" },
	{ "view-own", &config_kind_paths, LIST(view_own),
	  .help = "executor's own directories in view home; default: none" },
	{ "view-carrier", &config_kind_word, "fuse", FIELD(view_9p), .words = option_carriers,
	  .help = "how home's files get here: fuse | 9p (needs diod on home nodes)" },
	{ "exclude", &config_kind_texts, LIST(exclude),
	  .help = "programs that stay at home (fnmatch)" },
	{ "log", &config_kind_log, "info", FIELD(log),
	  .help = "error | warning | info | debug; more of some areas: \"info debug:placement\"" },
};

const struct config_option config_peer_options[] = {
	{ "host", &config_kind_host, PEER_FIELD(host), .required = true,
	  .help = "CN of its certificate" },
	{ "address", &config_kind_address, PEER_FIELD(address), .required = true,
	  .help = "address it listens on" },
};
/* clang-format on */

const struct config_option *config_option_find(const struct config_option *table, const char *name)
{
	for (; table->name; table++)
		if (!strcmp(table->name, name))
			return table;
	return NULL;
}
