/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file rights.h  The capabilities of ehlaunch. */
#ifndef EHLAUNCH_RIGHTS_H
#define EHLAUNCH_RIGHTS_H

/** Gives up what ehlaunch does not need. 0 or -errno. */
int rights_drop(void);
/** What is done until rights_resume() is done with no capability. 0 or -errno. */
int rights_pause(void);
int rights_resume(void);

#endif
