/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a sequence plays with: netlink sockets of several namespaces and users,
 * cgroups, and children that call exec. Each worker has its own, except for the
 * first namespace and the cgroups, which all share.
 */
#ifndef FUZZ_SCENE_H
#define FUZZ_SCENE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tape.h"

#define SCENE_SOCKETS 6
#define SCENE_NAMESPACES 4 /* the machine's, the worker's own, and two that come and go */
#define SCENE_CHILDREN 8
#define SCENE_COOKIES 16
#define SCENE_CGROUPS 4 /* managed, below it, guests, another */

struct scene {
	const char *stub;
	int stub_fd;
	uint16_t family;
	uint32_t group;
	int namespaces[SCENE_NAMESPACES]; /* descriptors, -1 for none */
	int sockets[SCENE_SOCKETS];
	unsigned int where[SCENE_SOCKETS]; /* namespace of each, when it was opened */
	int cgroups[SCENE_CGROUPS];
	int wrong_fd; /* of a file that is not a cgroup */
	pid_t children[SCENE_CHILDREN];
	uint64_t cookies[SCENE_COOKIES]; /* of requests seen, the latest first */
	uint32_t seq;
	unsigned int news; /* places children were the first to reach */
};

/* Once, before the workers: the files that children call exec with. */
void scene_make_programs(void);
void scene_remove_programs(void);
/* Once in each worker. Exits with a message if it cannot be had. */
void scene_init(struct scene *scene, const char *folder, const char *stub, uint16_t family,
		uint32_t group);
/* Ends all that a sequence left. */
void scene_clear(struct scene *scene);

void scene_open_socket(struct scene *scene, struct tape *tape);
void scene_close_socket(struct scene *scene, unsigned int i);
void scene_new_namespace(struct scene *scene, unsigned int i);
void scene_close_namespace(struct scene *scene, unsigned int i);
void scene_spawn(struct scene *scene, struct tape *tape);
/* One that nothing speaks against, in the managed cgroup and the namespace of socket @i. */
void scene_spawn_ordinary(struct scene *scene, struct tape *tape, unsigned int i);
void scene_kill(struct scene *scene, unsigned int i);
/* Reads what a socket has without waiting, at most @messages datagrams, and keeps the cookies. */
void scene_receive(struct scene *scene, unsigned int i, unsigned int messages);
/* Removes and makes the cgroup that nobody is to rely on. */
void scene_renew_cgroup(struct scene *scene);

/* Values of what the scene knows, right ones more often than wrong ones. */
uint32_t scene_fd(const struct scene *scene, struct tape *tape);
uint32_t scene_pid(const struct scene *scene, struct tape *tape);
uint64_t scene_cookie(const struct scene *scene, struct tape *tape);
const char *scene_path(const struct scene *scene, struct tape *tape);

#endif
