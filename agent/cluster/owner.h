/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file owner.h
 * The owner of this node comes first: while he needs it, it takes no tasks of other nodes. He says so
 * (`ehctl owner on`), or is seen to type (`owner-idle`).
 */
#ifndef AGENT_CLUSTER_OWNER_H
#define AGENT_CLUSTER_OWNER_H

#include <jansson.h>

struct agent;

enum owner_mode {
	OWNER_AUTO, /**< as the terminals of owners say, if `owner-idle` is set */
	OWNER_ON,
	OWNER_OFF,
	OWNER_MODES
};

int owner_init(struct agent *agent); /**< 0 or -ENOMEM */
void owner_exit(struct agent *agent);
/** Rules may have changed. */
void owner_reload(struct agent *agent);
/** `by`: "ann@build1"; "": unknown. */
void owner_set(struct agent *agent, enum owner_mode mode, const char *by);
/** "auto", "on", "off"; -EINVAL: none of these. */
int owner_parse(const char *text, enum owner_mode *out);
/** {"mode","active","idle"}; the last is null where no owner has a terminal, or nobody looks. The caller owns it. */
json_t *owner_json(struct agent *agent);

#endif
