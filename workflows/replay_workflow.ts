import type { JobClient } from "../jobs/enqueue.ts";
import { findTestClock } from "../jobs/job_settings.ts";
import { readEntries, readWorkflow } from "./journal.ts";
import { Turn } from "./turn.ts";
import type { AnyWorkflow } from "./workflow.ts";

/** Result of {@link replayWorkflow}. */
export interface WorkflowReplay {
  /** True if the code fits what was recorded. */
  readonly fits: boolean;
  /** Why it does not fit. */
  readonly reason: string | undefined;
}

/**
 * Runs the code of a workflow over what was recorded, to find out before a release whether running workflows fit it. No
 * step runs, and nothing is written.
 *
 * @param client The client.
 * @param workflow The code.
 * @param id The workflow.
 * @returns Whether it fits; `undefined` if there is no workflow of this name with this id.
 *
 * @example
 * ```ts ignore
 * for (const { id } of await listWorkflows(db, { name: "onboard", state: "running" })) {
 *   const replay = await replayWorkflow(db, onboard, id);
 *   assertEquals(replay, { fits: true, reason: undefined });
 * }
 * ```
 */
export async function replayWorkflow(
  client: JobClient,
  workflow: AnyWorkflow,
  id: string,
): Promise<WorkflowReplay | undefined> {
  const clock = findTestClock();
  const { definition } = workflow;
  const row = await readWorkflow(client, id, clock);
  if (row === undefined || row.name !== definition.name) return undefined;
  if (row.version > definition.version) {
    const reason =
      `It was started by version ${row.version}, this is version ${definition.version}`;
    return { fits: false, reason };
  }
  const turn = new Turn({
    definition,
    row,
    entries: await readEntries(client, id),
    timer: {},
    db: undefined,
    clock,
    signal: NEVER,
    cancelling: NEVER,
    metadata: { ...NO_METADATA, correlationId: id, requestId: id, operationName: definition.name },
  });
  const outcome = await turn.run();
  if (outcome.kind === "broken") throw outcome.error;
  const reason = outcome.kind === "stopped" ? outcome.error.message : undefined;
  return { fits: reason === undefined, reason };
}

const NEVER = new AbortController().signal;
const NO_METADATA = { traceId: undefined, coldStart: false };
