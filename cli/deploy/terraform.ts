import process from "node:process";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { ResolvedStage } from "../stages/stage_settings.ts";
import { type ProgramResult, runProgram } from "../programs/run_program.ts";
import type { CommandOption } from "../terminal/command.ts";

/** A resource in a plan. */
export interface ResourceChange {
  readonly address: string;
  readonly type: string;
  /** `create`, `update`, `delete`, or `delete` and `create` for a replacement. */
  readonly actions: readonly string[];
}

/** A plan that can be applied. */
export interface SavedPlan {
  readonly file: string;
  readonly changes: readonly ResourceChange[];
  /** True if neither resources nor outputs change. */
  readonly isEmpty: boolean;
}

/** Options of {@link Terraform.plan}. */
export interface PlanRequest {
  /** Plans to destroy everything. */
  readonly isDestroy?: boolean;
  /** Plans these resources and what they need. */
  readonly targets?: readonly string[];
}

/** The settings of {@link openTerraform}. */
export interface TerraformOptions {
  /** Folder of the Terraform files. */
  readonly folder: string;
  readonly stage: ResolvedStage;
  /** Program to use, in place of `terraform` or `tofu`. */
  readonly program?: string;
  /** Removes the lock that a killed Terraform has left on the state. */
  readonly isUnlocking?: boolean;
  /** Called with lines that show the progress of an apply. */
  readonly onProgress?: (line: string) => void;
}

/**
 * Finds Terraform or OpenTofu.
 *
 * @returns The program, prepared for the stage.
 * @throws {ConfigurationError} If none is installed, or the folder does not exist.
 */
export async function openTerraform(options: TerraformOptions): Promise<Terraform> {
  const { program, folder } = options;
  // without its working folder a program that exists does not start either
  if (!existsSync(folder)) {
    throw new ConfigurationError(
      `${folder} does not exist: run trellis generate infra and commit the files`,
    );
  }
  for (const name of program === undefined ? ["terraform", "tofu"] : [program]) {
    const { exitCode, stdout } = await runProgram(name, ["version"], { cwd: folder });
    if (exitCode === 0) return new Terraform(name, stdout.split("\n")[0].trim(), options);
  }
  throw new ConfigurationError(
    program === undefined
      ? "Neither terraform nor tofu is installed: install Terraform 1.9 or OpenTofu 1.9, or later"
      : `${program} cannot be run: check --terraform`,
  );
}

/** Terraform or OpenTofu with the state of one stage. */
export class Terraform {
  /** The program and its version: `Terraform v1.11.4`. */
  readonly version: string;
  /** `Terraform` or `OpenTofu`. */
  readonly product: string;
  readonly #program: string;
  readonly #options: TerraformOptions;
  readonly #discardAtExit = (): void => this.discardPlans();
  readonly #stopping = new AbortController();
  #active: Promise<unknown> = Promise.resolve();
  /** Only an apply changes them. */
  #outputs: Readonly<Record<string, unknown>> | undefined;

  constructor(program: string, version: string, options: TerraformOptions) {
    this.version = version;
    this.product = version.startsWith("OpenTofu") ? "OpenTofu" : "Terraform";
    this.#program = program;
    this.#options = options;
  }

  async #run(args: readonly string[], what: string): Promise<ProgramResult> {
    const { folder, stage, onProgress } = this.#options;
    const result = await runProgram(this.#program, args, {
      cwd: folder,
      env: {
        TF_IN_AUTOMATION: "1",
        TF_INPUT: "0",
        CHECKPOINT_DISABLE: "1",
        // each stage has its own, so that the backend of one is never used for another
        TF_DATA_DIR: join(".terraform", "stages", stage.name),
      },
      // what locks the state writes it and unlocks it, also if this process is killed
      lasting: LOCKING.includes(args[0])
        ? {
          // a Terraform that outlived its deployment writes to another file
          file: join(folder, ".terraform", "stages", `${stage.name}.${process.pid}.log`),
          signal: this.#stopping.signal,
          onLine: args[0] === "apply" ? onProgress : undefined,
        }
        : undefined,
    });
    if (result.signal !== undefined && !this.#stopping.signal.aborted) {
      const unrecorded = what === "apply"
        ? ", and what it has created last is not in the state"
        : "";
      throw new ConfigurationError(
        `${this.#program} ${what} was ended by ${result.signal}. Its lock may be left on the state${unrecorded}: ` +
          "run the command again with --unlock",
      );
    }
    // an interrupted plan reports each resource that it was reading
    if (result.exitCode !== 0 && what === "plan") this.#stopping.signal.throwIfAborted();
    if (result.exitCode !== 0) {
      const reported = listErrors(result.stdout);
      const text = reported.length > 0
        ? reported.join("\n")
        : withoutFrames(result.stderr || result.stdout);
      throw new ConfigurationError(`${this.#program} ${what} failed:\n${text}`);
    }
    return result;
  }

  /** Runs a command that locks the state, which the Terraform of a killed deployment may still hold until it ends. */
  async #runLocked([name, ...args]: readonly [string, ...string[]]): Promise<ProgramResult> {
    for (let isUnlocking = this.#options.isUnlocking === true;; isUnlocking = false) {
      this.#stopping.signal.throwIfAborted();
      const options = ["-input=false", `-lock-timeout=${LOCK_SECONDS}s`];
      const running = this.#run([name, ...options, ...args], name);
      this.#active = running.catch(() => {});
      try {
        return await running;
      } catch (error) {
        const lock = readLock(error as Error);
        if (lock === undefined) throw error;
        const { id, who, created } = lock;
        if (!isUnlocking) {
          throw new ConfigurationError(
            `The state is locked by ${who} since ${created}: another ${this.product} is running, or it was killed. ` +
              "Wait for its end. If there is none, run the command again with --unlock",
          );
        }
        await this.#run(["force-unlock", "-no-color", "-force", id], "force-unlock");
      }
    }
  }

  /** Interrupts what is running, and waits until it has stored and unlocked the state. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error(`${this.product} was interrupted`));
    await this.#active;
  }

  /** Prepares the folder for the state of the stage. */
  async init(): Promise<void> {
    const { backend } = this.#options.stage;
    const args = Object.entries(backend).map(([key, value]) => `-backend-config=${key}=${value}`);
    await this.#run(["init", "-no-color", "-input=false", "-reconfigure", ...args], "init");
  }

  async plan({ isDestroy = false, targets = [] }: PlanRequest = {}): Promise<SavedPlan> {
    const { stage } = this.#options;
    const [whole, part] = this.#listPlanFiles();
    // a signal skips the caller's `finally`
    process.off("exit", this.#discardAtExit).once("exit", this.#discardAtExit);
    const file = targets.length > 0 ? part : whole;
    const variables = Object.entries(stage.variables).map(([key, value]) => `-var=${key}=${value}`);
    const args = [
      ...isDestroy ? ["-destroy"] : [],
      ...targets.map((address) => `-target=${address}`),
      ...variables,
      `-out=${file}`,
    ];
    const { stdout } = await this.#runLocked(["plan", "-json", ...args]);
    const messages = readMessages(stdout);
    const changes = messages.flatMap(readChange);
    const outputs = messages.flatMap((message) => Object.values(message.outputs ?? {}));
    const isEmpty = changes.length === 0 && outputs.every(({ action }) => action === "noop");
    return { file, changes, isEmpty };
  }

  async apply({ file }: SavedPlan): Promise<void> {
    this.#outputs = undefined;
    try {
      await this.#runLocked(["apply", "-no-color", file]);
    } catch (error) {
      const { message } = error as Error;
      if (!EXISTS.test(message)) throw error;
      throw new ConfigurationError(`${message}\n${this.#explainUnrecorded()}`, { cause: error });
    }
  }

  /** Says what to do about resources that exist although the state does not contain them. */
  #explainUnrecorded(): string {
    const { folder, stage } = this.#options;
    const program = `TF_DATA_DIR=${join(".terraform", "stages", stage.name)} ${this.#program}`;
    const values = Object.entries(stage.variables).map(([name, value]) =>
      ` -var='${name}=${value}'`
    );
    return `AWS has resources that are not in the state: ${this.product}, if it is killed, does not record what it has ` +
      `created last. Delete them in AWS, or take each over in ${folder}: ${program} import${
        values.join("")
      } <address> <id>`;
  }

  /** The files of a whole plan and of a part, relative to the folder. */
  #listPlanFiles(): [string, string] {
    const start = join(".terraform", "stages", this.#options.stage.name);
    return [`${start}.tfplan`, `${start}.part.tfplan`];
  }

  /** Deletes saved plans, which contain values of variables. */
  discardPlans(): void {
    process.off("exit", this.#discardAtExit);
    for (const file of this.#listPlanFiles()) {
      rmSync(join(this.#options.folder, file), { force: true });
    }
  }

  /** Returns the outputs of the state by name. */
  async readOutputs(): Promise<Readonly<Record<string, unknown>>> {
    this.#outputs ??= await this.#loadOutputs();
    return this.#outputs;
  }

  async #loadOutputs(): Promise<Readonly<Record<string, unknown>>> {
    const { stdout } = await this.#run(["output", "-json", "-no-color"], "output");
    const outputs = JSON.parse(stdout) as Record<string, { value: unknown }>;
    return Object.fromEntries(Object.entries(outputs).map(([name, { value }]) => [name, value]));
  }
}

/** What services of AWS answer if a name is taken. */
const EXISTS = /already (?:exists?|has this name|owned)|AlreadyExists|AlreadyOwned/;
/** Commands that lock the state. */
const LOCKING: readonly string[] = ["plan", "apply"];
/** Seconds in which the Terraform of a killed deployment usually ends. */
const LOCK_SECONDS = 120;

/** Reads what Terraform says about a lock; `undefined` for another error. */
function readLock({ message }: Error): { id: string; who: string; created: string } | undefined {
  if (!message.includes("acquiring the state lock")) return undefined;
  const [id, who = "somebody", created = "an unknown time"] = ["ID", "Who", "Created"].map((name) =>
    message.split("\n").map((line) => line.trim()).find((line) => line.startsWith(`${name}:`))
      ?.slice(name.length + 1).trim()
  );
  return id === undefined ? undefined : { id, who, created };
}

/** A line that `-json` prints. */
interface Message {
  readonly type?: string;
  readonly change?: {
    readonly action: string;
    readonly resource: { readonly addr: string; readonly resource_type: string };
  };
  readonly outputs?: Readonly<Record<string, { readonly action?: string }>>;
  readonly diagnostic?: {
    readonly severity: string;
    readonly summary: string;
    readonly detail?: string;
    readonly address?: string;
  };
}

function readMessages(text: string): Message[] {
  return text.split("\n").flatMap((line) => {
    if (!line.startsWith("{")) return [];
    try {
      return [JSON.parse(line) as Message];
    } catch {
      return [];
    }
  });
}

/** The actions of a change; other messages are about data sources, moves and imports. */
const ACTIONS: Readonly<Record<string, readonly string[]>> = {
  create: ["create"],
  update: ["update"],
  delete: ["delete"],
  replace: ["delete", "create"],
};

function readChange({ type, change }: Message): ResourceChange[] {
  if (type !== "planned_change" || change === undefined) return [];
  const actions = ACTIONS[change.action];
  const { addr: address, resource_type } = change.resource;
  return actions === undefined ? [] : [{ address, type: resource_type, actions }];
}

function listErrors(text: string): string[] {
  return readMessages(text).flatMap(({ diagnostic }) => {
    if (diagnostic?.severity !== "error") return [];
    const { summary, detail = "", address } = diagnostic;
    return [`${address === undefined ? "" : `${address}: `}${summary}${detail && `: ${detail}`}`];
  });
}

/** Removes the frames around Terraform's messages. */
function withoutFrames(text: string): string {
  return text.split("\n").map((line) => line.replace(/^[╷│╵] ?/, "")).filter((line, index, all) =>
    line.trim() !== "" || all[index - 1]?.trim() !== ""
  ).join("\n").trim();
}

/** The options of commands that run Terraform. */
export const TERRAFORM_OPTIONS: readonly CommandOption[] = [
  {
    name: "unlock",
    description: "Remove the locks of a killed deployment, if none is running.",
  },
  {
    name: "terraform",
    value: "program",
    description: "The program. Default: terraform, else tofu.",
  },
  {
    name: "modules-path",
    value: "folder",
    description: "Folder of the Terraform modules. Default: the one in the package.",
  },
];
