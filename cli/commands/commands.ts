import type { Command } from "../command.ts";
import { generatePermissions } from "./generate_permissions.ts";

/** Every command, in the order of the help. */
export const COMMANDS: readonly Command[] = [generatePermissions];
