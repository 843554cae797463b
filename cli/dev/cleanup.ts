/** Steps that undo what was started, in reverse order. */
export interface Cleanup {
  /** Adds a step. */
  add(step: () => unknown): void;
  /** Runs all steps, the last one first. A second call does nothing. */
  run(): Promise<void>;
}

/** Creates an empty list of cleanup steps. */
export function createCleanup(): Cleanup {
  const steps: (() => unknown)[] = [];
  return {
    add: (step) => void steps.push(step),
    async run(): Promise<void> {
      for (const step of steps.splice(0).reverse()) await step();
    },
  };
}
