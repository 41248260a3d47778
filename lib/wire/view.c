// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "view.h"

static const char *const view_names[VIEWS] = { "", "shared", "home", "auto" };

const char *view_name(enum view view)
{
	return view_names[view < VIEWS ? view : VIEW_UNSET];
}

enum view view_parse(const char *name)
{
	for (unsigned int view = VIEW_SHARED; view < VIEWS; view++)
		if (!strcmp(name, view_names[view]))
			return view;
	return VIEW_UNSET;
}
