/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FUZZ_RIVAL_H
#define FUZZ_RIVAL_H

#include "scene.h"

/*
 * Gives this process, a child before its exec, a thread that leaves the namespaces of @flags
 * (unshare(2), CLONE_NEWNET among them), becomes the agent of its own network namespace, and says
 * again and again there that the group and itself are not to be asked about. It ends with an exec
 * that succeeds.
 */
void rival_begin(const struct scene *scene, int flags);

#endif
