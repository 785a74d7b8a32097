import { type Command, CommanderError } from 'commander';
import { createProgram } from './cli/program.ts';
import { checkRewriteLimits } from './cli/session/check-settings.ts';
import { loadJobs, withListFiles } from './cli/session/load-jobs.ts';
import type { Cli, Session } from './cli/session/session.ts';
import type { Shell } from './cli/session/shell.ts';
import { checkMasks } from './cli/session/source-jobs.ts';
import { createTerminal } from './cli/session/terminal.ts';
import type { Config } from './config/config.ts';
import { readListFiles } from './config/list-files.ts';
import { readConfig } from './config/read-config.ts';
import { DEFAULT_SCHEDULE } from './engine/job.ts';
import { isKind, SluiceError } from './errors.ts';
import { openSession } from './open-session.ts';

/** One command, as a process or a test runs it. */
export interface Program {
  /** Resolves with the exit code once all output has been handed on. Never rejects. */
  run(): Promise<number>;
  /** Reports an error that nothing has caught, and resolves like `run`. */
  fail(error: unknown): Promise<number>;
  /**
   * For Ctrl-C and SIGTERM: a service drains at the first and stops at the second, other commands stop at the first. False if the command is
   * stopping already.
   */
  stop(): boolean;
}

/** `home`: the folder with `jobs` and `migrations`. */
export function openProgram(shell: Shell, home: URL): Program {
  const { argv, env, cwd } = shell;
  const flags = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
  const terminal = createTerminal(shell, { json: flags.includes('--json'), color: !flags.includes('--no-color') });
  const draining = new AbortController();
  const stopping = new AbortController();
  let drains = false;
  let debugs = showsDebug(env.LOG_LEVEL);
  let exitCode = 0;

  const cli: Cli = {
    print: text => void shell.stdout.write(text),
    action:
      (needs, work) =>
      async (...given) => {
        const command = given.at(-1) as unknown as Command;
        const { source } = command.optsWithGlobals<{ source?: string }>();
        const read = async () => {
          const known = await loadJobs(new URL('jobs', home));
          const files = () => readListFiles(cwd, name => known.has(name));
          const jobs = needs.lists === false ? known : withListFiles(known, files());
          const config = readConfig({
            environment: env,
            directory: cwd,
            needsSource: needs.source,
            source,
            resources: [...jobs.keys()],
          });
          terminal.hide(config.secrets);
          checkMasks(config, jobs);
          checkRewriteLimits(config, jobs);
          await checkSchedules(config, jobs);
          return { config, jobs };
        };
        const { config, jobs } = await read();
        debugs ||= showsDebug(config.logLevel);
        drains = command.name() === 'start';
        const closing: (() => Promise<void>)[] = [];
        try {
          const signals = { stopping: stopping.signal, draining: draining.signal };
          const named = { name: command.name(), source, sendsKey: needs.source };
          const session = openSession({
            ...{ shell, home, terminal, config, jobs, reload: read, signals, closing },
            command: named,
          });
          exitCode = await work(session, ...given);
        } finally {
          // A connection that does not close must not hide the error that stopped the work.
          for (const close of closing.reverse()) await close().catch(error => terminal.note(`${error}`));
        }
      },
  };

  /** Returns the exit code of the error's kind. */
  function report(error: unknown): number {
    const known = error instanceof SluiceError;
    const kind = known ? error.kind : 'bug';
    const message = terminal.hidden(error instanceof Error ? error.message : String(error));
    const next = terminal.hidden(
      known
        ? (error.next ?? '')
        : 'This is a bug in Sluice. Incomplete changes were rolled back. LOG_LEVEL=debug shows where it happened.',
    );
    // After partial output, only the exit code and stderr report the error: a second JSON document would make stdout invalid.
    if (terminal.json && !terminal.begun)
      terminal.show({ error: { kind, message, ...(next ? { next } : {}) } }, () => '');
    terminal.note([terminal.noteColors.red(message), next].filter(Boolean).join('\n'));
    if (debugs && error instanceof Error && error.stack) terminal.note(error.stack);
    return isKind(error, 'usage', 'configuration') ? 2 : isKind(error, 'quota') ? 75 : 1;
  }

  async function end(code: number): Promise<number> {
    await terminal.flush();
    if (terminal.lost === null) return code;
    report(terminal.lost);
    await terminal.flush();
    return code || 1;
  }

  // Commander ends with an error after --help and --version, too.
  const fail = (error: unknown) => end(error instanceof CommanderError && error.exitCode === 0 ? 0 : report(error));

  return {
    fail,
    async run() {
      try {
        const [word, ...asked] = argv;
        // As git has it: `help sync` is `sync --help`.
        const line = word === 'help' ? [...asked, '--help'] : argv;
        const program = await createProgram(cli, line.find(each => each !== '--') ?? '');
        await program.parseAsync(line, { from: 'user' });
        return await end(exitCode);
      } catch (error) {
        return fail(error);
      }
    },
    stop() {
      if (stopping.signal.aborted) return false;
      const reason = new SluiceError('stopped', 'Stopped on request.', {
        next: 'Run the same command again to continue.',
      });
      if (draining.signal.aborted || !drains) stopping.abort(reason);
      draining.abort(reason);
      return true;
    },
  };
}

const showsDebug = (level: string | undefined): boolean => level === 'debug' || level === 'trace';

/** Checks cron expressions before anything starts. The scheduler, which does it, takes 50 ms to load, so only if one is set. */
async function checkSchedules({ sources }: Config, jobs: Session['jobs']): Promise<void> {
  const declared = [...jobs].flatMap(([name, { listFile, schedule }]) =>
    listFile !== null && schedule !== DEFAULT_SCHEDULE ? [[name, schedule] as const] : [],
  );
  for (const { name: source, schedules } of sources)
    for (const [resource, schedule] of [...Object.entries(schedules), ...declared])
      if (schedule !== 'off') (await import('./service/schedule/schedule.ts')).cronOf({ source, resource, schedule });
}
