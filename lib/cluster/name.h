/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file name.h  How people name a node: by its host or its address. */
#ifndef CLUSTER_NAME_H
#define CLUSTER_NAME_H

#include "address.h"

/** How well a name fits. */
enum name_fit {
	NAME_NOT,
	NAME_SHORT, /**< it is the host up to its first dot: good if no other host begins so */
	NAME_FULL,
};

/** The host fits in letters of any case, the address without its port. */
enum name_fit name_fits(const char *name, const char *host, const struct address *address);

#endif
