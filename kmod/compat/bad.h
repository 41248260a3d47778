/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernels that the module must not run on, though it compiles: what no header shows. The
 * headers say which kernel it is built for, and the build stops, as it does for one of 32
 * bits. bad.c looks again when the module is loaded, because a kernel takes modules of
 * another point release.
 */
#ifndef _EHS_COMPAT_BAD_H
#define _EHS_COMPAT_BAD_H

#include <linux/version.h>

/* Ids of cgroups, and times, are words. */
#ifndef CONFIG_64BIT
#error "ehsched: this kernel is one of 32 bits: use one of 64 bits"
#endif

/* Nothing before this has been tested. */
#define EHS_BAD_OLD_UNTIL KERNEL_VERSION(6, 1, 0)

#if LINUX_VERSION_CODE < EHS_BAD_OLD_UNTIL
#error "ehsched: this kernel is older than 6.1, the oldest that was tested: use 6.1 or later"
#endif

/*
 * Commit 2a010c412853 (6.11-rc1) took deny_write_access() out of exec, and with it what
 * undoes that of the module: a stub could never be written again. Reverted by 3b832035387f
 * in 6.13-rc1, 6.12.2 and 6.11.11. Headers with exe_file_deny_write_access() are of a
 * kernel with the revert, because that was made from it.
 */
#define EHS_BAD_EXEC_611_FROM KERNEL_VERSION(6, 11, 0)
#define EHS_BAD_EXEC_611_UNTIL KERNEL_VERSION(6, 11, 11)
#define EHS_BAD_EXEC_612_FROM KERNEL_VERSION(6, 12, 0)
#define EHS_BAD_EXEC_612_UNTIL KERNEL_VERSION(6, 12, 2)

#if !defined(EHS_HAVE_EXE_FILE_DENY) && !defined(EHS_BAD_ASK_AT_LOAD) && \
	((LINUX_VERSION_CODE >= EHS_BAD_EXEC_611_FROM &&                 \
	  LINUX_VERSION_CODE < EHS_BAD_EXEC_611_UNTIL) ||                \
	 (LINUX_VERSION_CODE >= EHS_BAD_EXEC_612_FROM &&                 \
	  LINUX_VERSION_CODE < EHS_BAD_EXEC_612_UNTIL))
#error "ehsched: 6.11 to 6.11.10, 6.12 and 6.12.1 do not deny writes to a program that runs: \
use 6.11.11, 6.12.2 or later. If the distribution has carried back 3b832035387f, build with \
KCFLAGS=-DEHS_BAD_ASK_AT_LOAD: the kernel is asked when the module is loaded"
#endif

int ehs_bad_check(void);

#endif /* _EHS_COMPAT_BAD_H */
