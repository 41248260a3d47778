// SPDX-License-Identifier: GPL-2.0-or-later
/* Updates for the owner of a member. */
#include "role.h"

void eh_member_send(struct eh_member *m, uint32_t to, struct eh_message *message)
{
	message->rule = m->rule;
	m->emit(m->ctx,
		&(struct eh_member_update){
			.type = EH_MU_SEND, .node = to, .message = message, .rule = m->rule });
}

void eh_member_role(struct eh_member *m)
{
	m->emit(m->ctx, &(struct eh_member_update){
				.type = EH_MU_ROLE, .rank = m->rank, .parent = m->parent });
}

void eh_member_redirect(struct eh_member *m, uint32_t who, unsigned int level, uint32_t to)
{
	eh_member_send(m, who,
		       &(struct eh_message){
			       .type = EH_MSG_REDIRECT, .level = level, .redirect = { to } });
}
