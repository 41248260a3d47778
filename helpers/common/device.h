/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file device.h  Of what kind the file system with this device number is. */
#ifndef COMMON_DEVICE_H
#define COMMON_DEVICE_H

#include <sys/types.h>

enum device_kind {
	DEVICE_UNKNOWN, /**< not mounted where this process sees it, or of no kind that is known */
	DEVICE_LOCAL, /**< the kernel knows all of it: nobody else changes it */
	DEVICE_SHARED, /**< several hosts may mount it at once */
};

enum device_kind device_kind(dev_t dev);

#endif
