//! What somebody may do to the sequence of a generator, as SQL.

use super::generators::Generator;

/// Something that gives a sequence a new file or an old value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// `ALTER SEQUENCE … START WITH`.
    Start,
    /// `ALTER SEQUENCE … AS bigint`.
    Type,
    /// `ALTER SEQUENCE … CACHE`.
    Cache,
    /// `ALTER SEQUENCE … RESTART`.
    Restart,
    /// `ALTER SEQUENCE … RESTART WITH`.
    RestartWith,
    /// `ALTER SEQUENCE … SET UNLOGGED`, then `SET LOGGED`.
    Unlogged,
    /// `TRUNCATE … RESTART IDENTITY` of the table that owns it.
    Truncate,
    /// `setval` to a value that it had a while ago.
    SetvalBack,
    /// `drop_shard` and `create_shard`.
    DropShard,
    /// `DROP SCHEMA … CASCADE` and `create_shard`.
    DropSchema,
}

/// All of them.
pub(super) const ALL: [Operation; 10] = [
    Operation::Start,
    Operation::Type,
    Operation::Cache,
    Operation::Restart,
    Operation::RestartWith,
    Operation::Unlogged,
    Operation::Truncate,
    Operation::SetvalBack,
    Operation::DropShard,
    Operation::DropSchema,
];

impl Operation {
    /// Whether it is for this generator.
    pub(super) fn suits(self, generator: &Generator) -> bool {
        generator.altered && (generator.dropped || !self.makes_a_generator())
    }

    /// Whether a generator is made by it: ids from that count only once it is committed.
    pub(super) fn makes_a_generator(self) -> bool {
        matches!(self, Self::DropShard | Self::DropSchema)
    }

    /// The statements, each of which may fail; `older` is a value of a while ago.
    pub(super) fn statements(self, generator: &Generator, older: i64) -> Vec<String> {
        let Generator { sequence, shard, .. } = generator;
        let alter = |how: &str| vec![format!("ALTER SEQUENCE {sequence} {how}")];
        let made_again = |gone: String| {
            let mut statements = vec![gone];
            statements.extend(generator.make_again());
            statements
        };
        match self {
            Self::Start => {
                alter(&format!("START WITH {}", i64::from(*shard) * generator.layout.slots))
            }
            Self::Type => alter("AS bigint"),
            Self::Cache => alter("CACHE 2"),
            Self::Restart => alter("RESTART"),
            Self::RestartWith => alter(&format!("RESTART WITH {older}")),
            Self::Unlogged => [alter("SET UNLOGGED"), alter("SET LOGGED")].concat(),
            Self::Truncate => vec![format!("TRUNCATE {} RESTART IDENTITY", generator.owner)],
            Self::SetvalBack => vec![format!("SELECT setval('{sequence}', {older})")],
            Self::DropShard => made_again(format!("SELECT drop_shard({shard})")),
            Self::DropSchema => made_again(format!("DROP SCHEMA shard_{shard:04} CASCADE")),
        }
    }
}
