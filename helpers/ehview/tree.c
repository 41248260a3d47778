// SPDX-License-Identifier: GPL-2.0-or-later
#include "tree.h"

struct tree *tree_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

void tree_post(struct tree *t, const message *m)
{
	t->touched = true;
	if (stream_put(&t->home, m))
		t->home.broke(t->home.ctx);
}

void tree_post_now(struct tree *t, const message *m)
{
	tree_post(t, m);
	t->unsure = t->tags;
	t->is_unsure = t->flush = true;
}
