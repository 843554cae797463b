import process from "node:process";
import type { InfraSettings } from "../config/infra.ts";
import type { StageInfra } from "../config/stage_infra.ts";

/** Values of Terraform variables. */
export type TerraformValues = Readonly<Record<string, string | number | boolean>>;

/** The settings of one stage. */
export interface ResolvedStage {
  readonly name: string;
  /** Arguments of the backend: where the state of this stage is. */
  readonly backend: Readonly<Record<string, string | boolean>>;
  /** Values of Terraform variables. */
  readonly variables: TerraformValues;
}

/** The parts of the configuration that stages depend on. */
export type StageSource = Pick<InfraSettings, "region" | "stages" | "state">;

/** The entry of `infra.stages` for stages that have no entry. */
export const ANY_STAGE = "*";

/**
 * Returns the region of a stage as an option of AWS clients: the setting, else the variable that
 * Terraform reads. Without either, the AWS settings of the shell decide.
 */
export function getStageRegion({ variables }: ResolvedStage): { region?: string } {
  const region = variables.region ?? process.env.TF_VAR_region;
  return typeof region === "string" && region !== "" ? { region } : {};
}

/** Returns true if stages are configured, so that each of them has its own state. */
export function hasStages({ stages = {}, state }: StageSource): boolean {
  return state !== undefined || Object.keys(stages).length > 0;
}

/**
 * Returns the settings of a stage. The address of the state contains the stage's name, so that two
 * stages never share one.
 */
export function resolveStage(
  settings: StageSource,
  projectName: string,
  name: string,
): ResolvedStage {
  const { stages = {}, state } = settings;
  const found: StageInfra = Object.hasOwn(stages, name) ? stages[name] : stages[ANY_STAGE] ?? {};
  const replace = <T>(value: T): T =>
    typeof value === "string" ? value.replaceAll("{stage}", name) as T : value;
  const variables: Record<string, string | number | boolean | undefined> = {
    environment: name,
    region: found.region ?? settings.region,
    domain_name: found.domain,
    hosted_zone_id: found.hostedZoneId,
    certificate_arn: found.certificateArn,
    cdn_domain_name: found.cdnDomain,
    cdn_certificate_arn: found.cdnCertificateArn,
    ...found.variables,
  };
  return {
    name,
    backend: state === undefined ? { path: `states/${name}.tfstate` } : {
      bucket: state.bucket,
      encrypt: true,
      key: `${projectName}/${name}.tfstate`,
      ...state.kmsKeyId === undefined ? {} : { kms_key_id: state.kmsKeyId },
      region: state.region,
      use_lockfile: true,
    },
    variables: Object.fromEntries(
      Object.entries(variables).flatMap(([key, value]) =>
        value === undefined ? [] : [[key, replace(value)]]
      ),
    ),
  };
}
