//! The lines of a plan that can be changed.

/// An option of a replay, as a line of its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PlanOption {
    /// How many jobs.
    Limit,
    /// Which ones these are.
    Pick,
    /// How fast.
    Rate,
    /// Over which time they are due.
    Spread,
    /// Where they go.
    Queue,
    /// What becomes of used attempts.
    Attempts,
    /// How many go first.
    Canary,
    /// From which share of failures on it stops.
    Stop,
    /// Whether the rate grows.
    Ramp,
    /// Whether the validator of the source accepts each job first.
    Validator,
    /// Why.
    Reason,
}

impl PlanOption {
    /// All, in the order of the lines.
    pub const ALL: [PlanOption; 11] = [
        PlanOption::Limit,
        PlanOption::Pick,
        PlanOption::Rate,
        PlanOption::Spread,
        PlanOption::Queue,
        PlanOption::Attempts,
        PlanOption::Canary,
        PlanOption::Stop,
        PlanOption::Ramp,
        PlanOption::Validator,
        PlanOption::Reason,
    ];

    /// The word before its line.
    pub fn title(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Pick => "pick",
            Self::Rate => "rate",
            Self::Spread => "due",
            Self::Queue => "queue",
            Self::Attempts => "attempts",
            Self::Canary => "canary",
            Self::Stop => "stop",
            Self::Ramp => "ramp",
            Self::Validator => "validator",
            Self::Reason => "reason",
        }
    }

    /// The option of the command line.
    pub fn flag(self) -> &'static str {
        match self {
            Self::Limit => "--limit",
            Self::Pick => "--pick",
            Self::Rate => "--rate",
            Self::Spread => "--spread",
            Self::Queue => "--to-queue",
            Self::Attempts => "--attempts",
            Self::Canary => "--canary",
            Self::Stop => "--stop-above",
            Self::Ramp => "--ramp",
            Self::Validator => "--validate",
            Self::Reason => "--reason",
        }
    }
}
