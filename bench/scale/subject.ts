import process from "node:process";

/** Some work at one size, ready to be run again and again. */
export interface Workload {
  /** The work. */
  run: () => unknown;
  /** Runs before each measured run, outside of the measurement. */
  before?: () => unknown;
  /** Whether the time of a clock counts and not the processor's: another process does a part of the work. */
  waits?: boolean;
  /** Ends what the work needs. */
  close?: () => unknown;
}

/** One line of a figure. */
export interface Series {
  /** What is measured. */
  readonly name: string;
  /** Makes the work of a size. */
  readonly prepare: (size: number) => Workload | Promise<Workload>;
  /**
   * Sizes of this line alone.
   * @default the figure's
   */
  readonly sizes?: readonly number[];
}

/** One figure: cost against size. */
export interface Subject {
  /** Name of the figure's file. */
  readonly id: string;
  /** What it says above the figure. */
  readonly title: string;
  /** What is counted along the axis. */
  readonly unit: string;
  /** Sizes, from small to large. */
  readonly sizes: readonly number[];
  /** The lines. */
  readonly series: readonly Series[];
}

/** What a run of some size took. */
export interface Point {
  /** The size. */
  readonly size: number;
  /** Milliseconds of one run. */
  readonly ms: number;
}

const ENOUGH_MS = 300;
const BATCH_MS = 5;
const MIN_BATCHES = 3;
/** A run that takes longer is measured once, after one that warms up. */
const SLOW_MS = 1000;

/**
 * Measures one line.
 *
 * @param series The line.
 * @param sizes The figure's sizes.
 * @returns A point for each size.
 */
export async function measureSeries(series: Series, sizes: readonly number[]): Promise<Point[]> {
  const points: Point[] = [];
  for (const size of series.sizes ?? sizes) {
    const workload = await series.prepare(size);
    try {
      points.push({ size, ms: await best(workload) });
    } finally {
      await workload.close?.();
    }
  }
  return points;
}

/** The least disturbed of several batches: what neighbours on the machine add is no cost of ours. */
async function best(workload: Workload): Promise<number> {
  const now = workload.waits ? () => performance.now() : cpuMs;
  let runs = 1;
  let spent = 0;
  let fastest = Infinity;
  for (let batches = 0; batches < MIN_BATCHES || spent < ENOUGH_MS; batches++) {
    await workload.before?.();
    const startedAt = now();
    for (let i = 0; i < runs; i++) await workload.run();
    const ms = now() - startedAt;
    spent += ms;
    const isWarm = batches > 0;
    if (isWarm) fastest = Math.min(fastest, ms / runs);
    if (isWarm && ms > SLOW_MS) break;
    if (ms < BATCH_MS && workload.before === undefined) {
      runs = Math.ceil(runs * Math.min(100, BATCH_MS / Math.max(ms, 0.01)));
    }
  }
  return fastest;
}

/** Processor time of this process, garbage collection included: a busy machine does not stretch it. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
