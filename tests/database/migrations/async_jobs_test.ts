import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { type RequestState, runWithRequestContext } from "../../../core/request_context.ts";
import { type JobOutcome, waitForJob } from "../../../database/migrations/async_jobs.ts";
import type { MigrationContext } from "../../../database/migrations/context.ts";
import { MigrationError } from "../../../database/migrations/migration_error.ts";
