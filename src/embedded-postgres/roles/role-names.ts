/** The database, and its owner, as whom Sluice works: no superuser. */
export const DATABASE = 'sluice';
export const OWNER = 'sluice';
/** The superuser that initdb creates. Only the set-up of roles and databases logs in as it. */
export const ADMIN = 'sluice_admin';
/** The login of people and their tools: it reads, and has no way to write, to a file or to a program. */
export const READER = 'sluice_reader';
