import { join } from "node:path";
import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
  UsageError,
} from "../terminal/command.ts";
import { RECORDER, type Recorder } from "../../env/recording.ts";
import type { AnyWorkflow } from "../../workflows/workflow.ts";
import type { WorkflowEntry, WorkflowState } from "../../workflows/workflow_admin.ts";
import { databaseOptions } from "../database/database_options.ts";
import { count } from "../terminal/generated_report.ts";
import { printTable } from "../terminal/text_table.ts";
import { checkJobId, readLimit, toSeconds, withJobsDatabase } from "./jobs.ts";

/** The command `trellis workflows list`. */
export const workflowsList: Command = {
  name: "workflows list",
  summary: "Lists workflows with their states and errors.",
  description: [
    "Reads the table trellis_workflows, the last started workflows first. Inputs are not printed: see\n" +
    "trellis workflows show.",
  ],
  options: [
    {
      name: "state",
      value: "state",
      values: [
        "running",
        "undoing",
        "cancelling",
        "stopped",
        "done",
        "failed",
        "cancelled",
      ] satisfies WorkflowState[],
      description: "Only workflows in this state.",
    },
    { name: "workflow", value: "name", description: "Only workflows with this name." },
    { name: "limit", value: "number", description: "Maximum number of workflows. Default: 50." },
    ...databaseOptions(),
  ],
  examples: [
    ["trellis workflows list --state stopped", "the workflows that do not fit their code"],
    ["trellis workflows list --workflow onboard --limit 500 --json", "as JSON"],
  ],
  run: list,
};

async function list(context: CommandContext): Promise<CommandResult> {
  const { options, output } = context;
  const { listWorkflows } = await import("../../workflows/workflow_admin.ts");
  const state = options.state as WorkflowState | undefined;
  const limit = readLimit(options.limit as string | undefined);
  const name = options.workflow as string | undefined;
  const [label, workflows] = await withJobsDatabase(
    context,
    (db) => listWorkflows(db, { state, name, limit }),
    "workflows",
  );
  const rows = workflows.map((workflow) => [
    workflow.id,
    workflow.name,
    workflow.state,
    toSeconds(workflow.startedAt),
    (workflow.error ?? "").split("\n")[0],
  ]);
  printTable(output, ["id", "workflow", "state", "started (UTC)", "error"], rows);
  output.line(`${output.bold(label)}: ${count(workflows.length, "workflow")}`);
  return { exitCode: ExitCode.Done, database: label, workflows };
}

const ARGUMENT = {
  name: "id",
  description: "The workflow's id.",
} as const;

/** The command `trellis workflows show`. */
export const workflowsShow: Command = {
  name: "workflows show",
  summary: "Prints a workflow with input, result and steps.",
  description: ["Input and result may contain personal data."],
  args: [ARGUMENT],
  options: databaseOptions(),
  examples: [["trellis workflows show 4f0c5a52-8d3e-4a63-9a43-0f3f6b6f9f0e", "one workflow"]],
  exitCodes: { [ExitCode.Found]: "The table has no workflow with this id." },
  run: show,
};

async function show(context: CommandContext): Promise<CommandResult> {
  const { args, output } = context;
  const { getWorkflow } = await import("../../workflows/workflow_admin.ts");
  const id = checkJobId(args[0], "workflow");
  const [label, workflow] = await withJobsDatabase(
    context,
    (db) => getWorkflow(db, id),
    "workflows",
  );
  if (workflow === undefined) {
    output.line(`${output.bold(label)}: no workflow has the id ${id}`);
    return { exitCode: ExitCode.Found, database: label, workflow: null };
  }
  const { entries, ...facts } = workflow;
  for (const [key, value] of Object.entries(facts)) {
    if (value === undefined) continue;
    const isJson = key === "input" || key === "output";
    output.line(`${key}: ${isJson ? JSON.stringify(value) : value}`);
  }
  const header = ["position", "kind", "name", "state", "attempts", "until (UTC)", "error"];
  printTable(output, header, entries.map(toRow));
  return { exitCode: ExitCode.Done, database: label, workflow };
}

function toRow(entry: WorkflowEntry): string[] {
  const until = entry.finishedAt ?? entry.wakeAt;
  return [
    entry.position,
    entry.kind,
    entry.name,
    entry.state,
    entry.attempts === 0 ? "" : String(entry.attempts),
    until === undefined ? "" : toSeconds(until),
    (entry.error ?? "").split("\n")[0],
  ];
}

type Change = "retry" | "cancel";

const EXIT_CODES: Command["exitCodes"] = {
  [ExitCode.Found]: "The workflow does not exist or is in another state; it was not changed.",
};

/** The command `trellis workflows retry`. */
export const workflowsRetry: Command = {
  name: "workflows retry",
  summary: "Lets a workflow that stopped or failed go on.",
  description: [
    "A stopped workflow goes on with the deployed code. A failed one runs the step that failed again, unless\n" +
    "steps were taken back. It runs when a worker or the relay looks at the table of jobs.",
  ],
  args: [ARGUMENT],
  options: databaseOptions(),
  examples: [["trellis workflows retry 4f0c5a52-8d3e-4a63-9a43-0f3f6b6f9f0e", "one workflow"]],
  exitCodes: EXIT_CODES,
  run: (context) => change("retry", context),
};

/** The command `trellis workflows cancel`. */
export const workflowsCancel: Command = {
  name: "workflows cancel",
  summary: "Cancels a workflow, and takes back its steps that have an undo.",
  description: ["A step that runs ends first. Child workflows are cancelled, too."],
  args: [ARGUMENT],
  options: databaseOptions(),
  examples: [["trellis workflows cancel 4f0c5a52-8d3e-4a63-9a43-0f3f6b6f9f0e", "one workflow"]],
  exitCodes: EXIT_CODES,
  run: (context) => change("cancel", context),
};

async function change(what: Change, context: CommandContext): Promise<CommandResult> {
  const { args, output } = context;
  const id = checkJobId(args[0], "workflow");
  const [{ getWorkflow, retryWorkflow }, { cancelWorkflow }] = await Promise.all([
    import("../../workflows/workflow_admin.ts"),
    import("../../workflows/cancel_workflow.ts"),
  ]);
  const apply = what === "retry" ? retryWorkflow : cancelWorkflow;
  const [label, unchanged] = await withJobsDatabase(context, async (db) => {
    if (await apply(db, id)) return undefined;
    const workflow = await getWorkflow(db, id);
    return workflow === undefined ? "no workflow has this id" : `the workflow is ${workflow.state}`;
  }, "workflows");
  const done = what === "retry" ? "the workflow goes on" : "the workflow is being cancelled";
  output.line(`${output.bold(label)}: ${unchanged ?? done}`);
  const exitCode = unchanged === undefined ? ExitCode.Done : ExitCode.Found;
  return { exitCode, database: label, changed: unchanged === undefined ? [id] : [] };
}

/** The command `trellis workflows replay`. */
export const workflowsReplay: Command = {
  name: "workflows replay",
  summary: "Checks whether the workflows that run fit the code.",
  description: [
    "Runs the code over what was recorded. No step runs, and nothing is written. Call it before a release.",
  ],
  args: [{
    name: "code",
    description: "Module and export of the workflow: src/onboard.ts#onboard.",
  }],
  options: [
    {
      name: "id",
      value: "id",
      description: "Only this workflow. Default: the last 1,000 that run or stopped.",
    },
    ...databaseOptions(),
  ],
  examples: [["trellis workflows replay src/onboard.ts#onboard", "all that run or stopped"]],
  exitCodes: {
    [ExitCode.Done]: "All workflows fit.",
    [ExitCode.Found]: "A workflow does not fit the code.",
  },
  run: replay,
};

async function replay(context: CommandContext): Promise<CommandResult> {
  const { args: [code], options, output, root } = context;
  const [file, name] = code.split("#");
  if (!name) throw new UsageError(`"${code}" names no export: write src/onboard.ts#onboard`);
  const only = options.id === undefined ? undefined : checkJobId(options.id as string, "workflow");
  const [{ listWorkflows }, { replayWorkflow }] = await Promise.all([
    import("../../workflows/workflow_admin.ts"),
    import("../../workflows/replay_workflow.ts"),
  ]);
  const workflow = await loadWorkflow(root, file, name);
  if (workflow?.definition === undefined) {
    throw new UsageError(`${name} of ${file} is no result of defineWorkflow(options)(function)`);
  }
  const [label, replayed] = await withJobsDatabase(context, async (db) => {
    const ids = only === undefined ? [] : [only];
    for (const state of only === undefined ? ["running", "stopped"] as const : []) {
      const found = await listWorkflows(db, {
        state,
        name: workflow.workflowName,
        limit: MAX_REPLAYED,
      });
      ids.push(...found.map(({ id }) => id));
    }
    const replays = [];
    for (const id of ids.slice(0, MAX_REPLAYED)) {
      const result = await replayWorkflow(db, workflow, id);
      if (result === undefined) {
        throw new UsageError(`No workflow ${workflow.workflowName} has the id ${id}`);
      }
      replays.push({ id, ...result });
    }
    return replays;
  }, "workflows");
  const misfits = replayed.filter(({ fits }) => !fits);
  printTable(output, ["id", "why it does not fit"], misfits.map(({ id, reason }) => [id, reason!]));
  output.line(
    `${output.bold(label)}: ${
      count(replayed.length, "workflow")
    } replayed, ${misfits.length} do not fit`,
  );
  const exitCode = misfits.length === 0 ? ExitCode.Done : ExitCode.Found;
  return { exitCode, database: label, replayed };
}

const MAX_REPLAYED = 1000;

/** Loads an export of the project. Clients refuse to connect meanwhile, and variables that are not set have a stand-in. */
async function loadWorkflow(
  root: string,
  file: string,
  name: string,
): Promise<AnyWorkflow | undefined> {
  const [{ loadExports }, { createStandIn }] = await Promise.all([
    import("../schema_migration/load_schema.ts"),
    import("../project/stand_ins.ts"),
  ]);
  const recorder: Recorder = {
    add() {},
    getStandIn: (variable, isRequired) => isRequired ? createStandIn("a", variable) : undefined,
  };
  const globals = globalThis as { [RECORDER]?: Recorder };
  globals[RECORDER] = recorder;
  try {
    const contents = `export { ${name} as value } from ${JSON.stringify(`./${file}`)};`;
    const source = { contents, resolveDir: root, sourcefile: join(root, "workflow.ts") };
    return (await loadExports<{ value?: AnyWorkflow }>(root, source, file)).value;
  } finally {
    delete globals[RECORDER];
  }
}
