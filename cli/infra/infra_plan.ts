import type { EnvironmentVariable } from "../analysis/environment_variables.ts";
import type { FunctionInfra } from "../config/infra.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import type { Expression, HclValue } from "./hcl.ts";

/** Options of a handler that the infrastructure takes. */
export interface HandlerOptions {
  readonly timeout?: number;
  readonly memorySize?: number;
  readonly reservedConcurrency?: number;
  readonly ephemeralStorage?: number;
  readonly deadLetterQueue?: boolean | { readonly targetArn?: string };
  readonly retryAttempts?: number;
  /** `defineApiHandler`: the auth mode. */
  readonly auth?: string;
  /** `defineApiHandler`: origins, or `false` for none. */
  readonly cors?: string | readonly string[] | false;
}

/** What an authorizer reads of a request, as far as its text tells. */
export interface AuthorizerInputs {
  readonly reads: readonly { readonly source: string; readonly place: string }[];
  /** Where the text does not tell what is read: `src/authorizer.ts:12`. */
  readonly unresolved: readonly string[];
}

/** A function, as its sources and the configuration describe it. */
export interface InfraFunction extends FunctionFile {
  /** Relative to the project. */
  readonly source: string;
  /** The line of the handler. */
  readonly line: number;
  /** `notes_get`, for names of Terraform. */
  readonly id: string;
  /** The package's function that makes the handler. */
  readonly definer?: string;
  readonly options: HandlerOptions;
  readonly settings: FunctionInfra;
  readonly variables: readonly EnvironmentVariable[];
  readonly usesDatabase: boolean;
  /** Of a function in `authorizer/`. */
  readonly inputs?: AuthorizerInputs;
}

/** What a function is given. */
export interface FunctionEnvironment {
  /** Values by name of the variable. */
  readonly values: Readonly<Record<string, HclValue>>;
  /** Policies that the values come with, by name. */
  readonly policies: Readonly<Record<string, Expression>>;
  /** Whether it connects to the cluster. */
  readonly usesCluster: boolean;
}

/** A variable of the generated Terraform. */
export interface TerraformVariable {
  readonly name: string;
  readonly description: string;
  readonly type: "string" | "bool";
  readonly default?: HclValue;
  readonly isSensitive?: boolean;
  readonly validation?: { readonly condition: string; readonly message: string };
}

/** What is wrong, at a function or in the configuration. */
export interface Fault {
  readonly message: string;
  readonly functionName?: string;
}
