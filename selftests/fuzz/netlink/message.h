/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages to the family: by the grammar, and off it. */
#ifndef FUZZ_MESSAGE_H
#define FUZZ_MESSAGE_H

#include <stdint.h>

#include "scene.h"
#include "tape.h"

/* One datagram of one or more messages, most of them nearly right, through a random socket. */
void message_send_random(struct scene *scene, struct tape *tape);
/* Asks the controller for the policies of the family, or for other things it knows. */
void message_send_controller(struct scene *scene, struct tape *tape);
/* Makes the node of socket @i a sender, and the socket its agent: what requests begin with. */
void message_overload(struct scene *scene, struct tape *tape, unsigned int i);
/* The same with a limit of a second, for a caller without a tape. */
void message_overload_now(struct scene *scene, unsigned int i);
/* Execs of this task are not to be asked about. */
void message_bypass(struct scene *scene, unsigned int i, uint32_t pid);
/* A right verdict on a request that was seen. */
void message_answer(struct scene *scene, struct tape *tape);

#endif
