import { join } from 'node:path';
import { type Environment, readEnvFile } from './env-file.ts';
import { SETTING_NAMES, type SettingName, type SettingTexts } from './schema.ts';

/** The settings as text: from the environment and, for what it does not set, from `.env`. */
export interface RawSettings {
  /** Trimmed; undefined when not set or empty. */
  readonly textOf: (name: string) => string | undefined;
  readonly originOf: (name: string) => 'environment' | '.env' | 'default';
  readonly names: readonly string[];
  readonly problems: readonly string[];
  /** Path of the `.env` file. */
  readonly file: string;
  /** What `.env` sets, if every user of this machine may read it. */
  readonly publicValues: Environment;
}

/** An empty variable in the environment hides that of `.env`. */
export function readEnvironment(environment: Environment, directory: string): RawSettings {
  const file = join(directory, '.env');
  const { values, problems, isPublic } = readEnvFile(file);
  const textOf = (name: string) => (environment[name] ?? values[name])?.trim() || undefined;
  return {
    textOf,
    originOf(name) {
      if (textOf(name) === undefined) return 'default';
      return environment[name] === undefined ? '.env' : 'environment';
    },
    names: [...new Set([...Object.keys(values), ...Object.keys(environment)])],
    problems,
    file,
    publicValues: isPublic ? values : {},
  };
}

export function settingTexts({ textOf }: Pick<RawSettings, 'textOf'>): SettingTexts {
  const texts: Partial<Record<SettingName, string>> = {};
  for (const name of SETTING_NAMES) {
    const text = textOf(name);
    if (text) texts[name] = text;
  }
  return texts;
}
