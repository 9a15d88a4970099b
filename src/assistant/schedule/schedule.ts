/** The scheduler and its jobs, loaded when there is a job, or a caller asks for one: a home without jobs pays one read. */
import type { Jobs, JobsParts } from "./jobs.ts";
import type { Scheduler, SchedulerParts } from "./scheduler.ts";

export interface ScheduleParts extends Omit<JobsParts, "onChange">, SchedulerParts {
  readonly clock: SchedulerParts["clock"];
  readonly store: SchedulerParts["store"];
  /** False: the config switched it off; jobs are kept, and none runs. */
  readonly isEnabled: () => boolean;
}

export class Schedule {
  readonly #parts: ScheduleParts;
  #jobs: Promise<Jobs> | null = null;
  #scheduler: Promise<Scheduler> | null = null;
  #isStarted = false;
  #isRunning = false;

  constructor(parts: ScheduleParts) {
    this.#parts = parts;
  }

  jobs(): Promise<Jobs> {
    this.#jobs ??= import("./jobs.ts").then(
      ({ Jobs }) => new Jobs({ ...this.#parts, maxJobs: () => this.#parts.maxJobs(), onChange: () => this.changed() }),
    );
    return this.#jobs;
  }

  scheduler(): Promise<Scheduler> {
    this.#scheduler ??= import("./scheduler.ts").then(({ Scheduler }) => new Scheduler(this.#parts));
    return this.#scheduler;
  }

  /** From now on slots are settled. */
  async start(): Promise<void> {
    this.#isStarted = true;
    if ((await this.#parts.store.nextDueMs()) !== null) await this.changed();
  }

  /** Jobs or settings are others. */
  async changed(): Promise<void> {
    if (!this.#isStarted) return;
    const isWanted = this.#parts.isEnabled();
    if (!isWanted && !this.#isRunning) return;
    const scheduler = await this.scheduler();
    if (isWanted === this.#isRunning) scheduler.changed();
    else if (isWanted) scheduler.start();
    else await scheduler.stop();
    this.#isRunning = isWanted;
  }

  async stop(): Promise<void> {
    this.#isStarted = false;
    if (this.#isRunning) await (await this.scheduler()).stop();
  }
}
