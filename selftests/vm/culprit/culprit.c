// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commits one error of those that the debug kernels look for, named by what=, so that ../reports can see it found.
 * Never stays loaded.
 */

#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timer.h>
#include <linux/uaccess.h>

static char *what = "";
module_param(what, charp, 0);
MODULE_PARM_DESC(what, "error to commit");

/* Volatile, so that the compiler does not see what is wrong. */
static volatile int many = 40;
static int shared;

static void after_free(void)
{
	volatile char *p = kmalloc(64, GFP_KERNEL);

	kfree((void *)p);
	if (p)
		(void)p[8];
}

static void out_of_bounds(void)
{
	volatile char *p = kmalloc(many, GFP_KERNEL);

	if (p)
		p[many] = 1;
	kfree((void *)p);
}

static void stack(void)
{
	volatile char a[16] = {};
	volatile char *p = a;

	p[many - 20] = 1;
}

static void leak(void)
{
	int i;

	/* several, for a copy of the last pointer may stay in a register's slot on the stack */
	for (i = 0; i < 8; i++)
		memset(kmalloc(333, GFP_KERNEL | __GFP_NOFAIL), i, 333);
}

static void shift(void)
{
	shared = 1 << many;
}

static void bounds(void)
{
	static volatile int a[4];

	shared = a[many / 8]; /* a write would hit its neighbour */
}

static void list(void)
{
	static LIST_HEAD(head);
	static LIST_HEAD(entry);

	list_add(&entry, &head);
	list_add(&entry, &head);
}

static void deleted(void)
{
	static LIST_HEAD(head);
	static LIST_HEAD(entry);

	list_add(&entry, &head);
	list_del(&entry);
	list_del(&entry);
}

static void fires(struct timer_list *timer)
{
}

static void active(void)
{
	struct timer_list *timer = kmalloc(sizeof(*timer), GFP_KERNEL | __GFP_NOFAIL);

	timer_setup(timer, fires, 0);
	mod_timer(timer, jiffies + 1000 * HZ);
	kfree(timer);
}

static void sleeps(void)
{
	static DEFINE_SPINLOCK(lock);

	/* not really: the scheduler would repair the count that the unlock then lowers, and lockdep give up */
	spin_lock(&lock);
	might_sleep();
	spin_unlock(&lock);
}

static void order(void)
{
	static DEFINE_MUTEX(a);
	static DEFINE_MUTEX(b);

	mutex_lock(&a);
	mutex_lock(&b);
	mutex_unlock(&b);
	mutex_unlock(&a);
	mutex_lock(&b);
	mutex_lock(&a);
	mutex_unlock(&a);
	mutex_unlock(&b);
}

static void dereference(void)
{
	static int __rcu *pointer;

	shared += !rcu_dereference(pointer);
}

static void copy(void)
{
	char *p = kmalloc(64, GFP_KERNEL | __GFP_NOFAIL);

	if (copy_to_user((void __user *)PAGE_SIZE, p + many, many))
		kfree(p);
}

static int count(void *unused)
{
	int i;

	for (i = 0; i < 1000000; i++) {
		shared++;
		barrier(); /* an access each time */
	}
	while (!kthread_should_stop())
		msleep(1);
	return 0;
}

static void race(void)
{
	struct task_struct *a, *b;

	a = kthread_run(count, NULL, "culprit-a");
	b = kthread_run(count, NULL, "culprit-b");
	if (!IS_ERR(a))
		kthread_stop(a);
	if (!IS_ERR(b))
		kthread_stop(b);
}

static void warning(void)
{
	WARN_ON(many);
}

static const struct {
	const char *name;
	void (*commit)(void);
} errors[] = {
	{ "warning", warning },
	{ "sleeps", sleeps },
	{ "dereference", dereference },
	{ "shift", shift },
	{ "bounds", bounds },
	{ "leak", leak },
	{ "active", active },
	{ "order", order },
	{ "after-free", after_free },
	{ "out-of-bounds", out_of_bounds },
	{ "stack", stack },
	{ "list", list },
	{ "deleted", deleted },
	{ "copy", copy },
	{ "race", race },
};

static int commit(void *error)
{
	errors[(long)error].commit();
	return 0;
}

/* In a thread, which is what a BUG ends: insmod would stay half done and hold up the next. */
static int __init culprit_init(void)
{
	struct task_struct *thread;
	long i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		if (strcmp(what, errors[i].name))
			continue;
		thread = kthread_create(commit, (void *)i, "culprit");
		if (IS_ERR(thread))
			return PTR_ERR(thread);
		get_task_struct(thread);
		wake_up_process(thread);
		while (!READ_ONCE(thread->exit_state))
			msleep(10);
		put_task_struct(thread);
		return -ECANCELED;
	}
	return -EINVAL;
}
module_init(culprit_init);

MODULE_DESCRIPTION("Errors that debug kernels are to find");
MODULE_LICENSE("GPL");
