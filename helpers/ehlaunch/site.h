/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file site.h  What the site has said, and what ehlaunch found on this host when it was started. */
#ifndef EHLAUNCH_SITE_H
#define EHLAUNCH_SITE_H

#include <linux/ehsched.h>

#include "rules.h"

extern struct rules rules;

extern struct site {
	int namespace; /**< the mount namespace of this host */
	/** "": none */
	char stub[EHS_PATH_MAX + 1], ehlook[EHS_PATH_MAX + 1], ehview[EHS_PATH_MAX + 1],
		ehfiles[EHS_PATH_MAX + 1];
} site;
void site_look(void);

#endif
